// The folder beside a file in which a download keeps the data of the file until it is whole. One rename makes the
// folder appear together with a mark inside it, and another rename makes it disappear. So even after a process was
// killed, a folder without the mark does not belong to a download, and is left alone.

import { constants } from 'node:fs'
import { lstat, open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { base16 } from 'multiformats/bases/base16'
import { areEqual } from '../../lib/core/bytes.js'
import { BaoError } from '../../lib/core/errors.js'
import { hash, hashStream } from '../../lib/hash/index.js'
import { withRoom } from '../../lib/source/open-files.js'
import { BlobStore } from '../../store/index.js'

const MARK = 'unfinished-download'
/** The name of the mark of a folder that will be removed. */
const END_MARK = 'ended-download'
const MARK_TEXT =
  'This folder has what a download of baobox has brought so far. It is deleted when the download ends.\n'
/** Milliseconds for which a folder without a mark may be one that another call has just made by opening a store. */
const NEW_MS = 1000
/** The codes of errors of a rename to a folder that is there. */
const TAKEN = process.platform === 'win32' ? ['EPERM'] : ['EEXIST', 'ENOTEMPTY']
/** What the opening of a store makes where a folder is missing. A store that was closed has more entries. */
const MADE_NAMES = ['blobs', 'data', 'index']
const ADVICE = 'move it away, or delete it'
/** Windows does not have the first two flags. With `O_NONBLOCK`, opening a pipe does not wait. */
const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = constants

export class PartFolder {
  /** The path of the file. */
  target
  /** The path of the folder. */
  path

  /** @param {string | URL} file */
  constructor (file) {
    this.target = resolve(file instanceof URL ? fileURLToPath(file) : file)
    this.path = `${this.target}.part`
  }

  /**
   * Checks that the file can be made, and makes the folder, unless an earlier download has left it.
   *
   * @returns {Promise<string | undefined>} which folder it is, for `is`; undefined if another download removes it
   * @throws {Error} EEXIST, EISDIR, ENOTDIR; PATH_EXISTS { location }
   */
  async prepare () {
    const { target, path } = this
    const file = await stat(target).catch(unlessMissing)
    if (file?.isDirectory()) {
      throw Object.assign(new Error(`${target} is a folder: give the path of a file in it`), { code: 'EISDIR' })
    }
    if (file?.isFile() === false) {
      const message = `${target} is a device or a pipe, which a download would replace: give the path of a file`
      throw Object.assign(new Error(message), { code: 'EEXIST' })
    }
    const there = await lstat(path).catch(unlessMissing)
    if (there !== undefined && !there.isDirectory()) {
      const message = `${path} is not a folder, and the download needs one there: ${ADVICE}`
      throw Object.assign(new Error(message), { code: 'ENOTDIR' })
    }
    if (there === undefined) await this.#make()
    const folder = await this.#folder()
    if (folder === undefined || await this.#isMarked()) return folder
    const { birthtimeMs = 0 } = await lstat(path).catch(unlessMissing) ?? {}
    if (await this.#folder() !== folder || Math.abs(Date.now() - birthtimeMs) < NEW_MS) return undefined
    throw new BaoError('PATH_EXISTS', `${path} is a folder that no download has made: ${ADVICE}`, { location: path })
  }

  /** True if the folder is still the one that `prepare` returned, and will not be removed. @param {string} folder */
  async is (folder) { return await this.#folder() === folder }

  /** Returns which folder has the path; undefined if there is none, or if a download will remove it. */
  async #folder () {
    const there = await lstat(this.path, { bigint: true }).catch(unlessMissing)
    const hasEnd = await lstat(join(this.path, END_MARK)).then(() => true, () => false)
    return there === undefined || (hasEnd && await this.#isMarked()) ? undefined : `${there.dev} ${there.ino}`
  }

  /** Removes a folder that the opening of a store has made, because another call had removed the folder before. */
  async removeMade () {
    const names = await readdir(this.path).catch(() => [MARK])
    const blobs = await readdir(join(this.path, 'blobs')).catch(() => [])
    if (blobs.length === 0 && names.every(name => MADE_NAMES.includes(name))) await this.#remove()
  }

  /** Marks the folder as one that will be removed. The caller has the store in it open, and other calls leave it. */
  async end () {
    if (await this.#isMarked()) await writeSynced(join(this.path, END_MARK), MARK_TEXT)
  }

  /** True if something has the path of the folder. */
  async isThere () { return await lstat(this.path).catch(unlessMissing) !== undefined }

  /**
   * The size of the file, if it has the blob already.
   *
   * @param {Uint8Array} root @param {{ signal?: AbortSignal }} options
   * @returns {Promise<number | undefined>} bytes
   */
  async sizeOf (root, { signal }) {
    signal?.throwIfAborted()
    try {
      const there = await stat(this.target)
      const isRight = there.isFile() && areEqual(root, 0, await hashStream(this.target, { signal }))
      return isRight ? there.size : undefined
    } catch {
      signal?.throwIfAborted()
      return undefined // there is no such file, or it cannot be read: then it will be replaced
    }
  }

  /** Removes the folder, if it still belongs to a download. */
  async remove () {
    if (await this.#isMarked()) await this.#remove() // otherwise, another program has put its own folder there
  }

  async #remove () {
    const left = this.spareName()
    await rename(this.path, left).catch(unlessMissing)
    await removeFolder(left)
  }

  /**
   * Removes the folders that killed downloads to the same file have left while they made or removed their folder.
   */
  async removeLeftovers () {
    const parent = dirname(this.path)
    for (const name of await readdir(parent)) {
      if (!name.startsWith(this.#sparePrefix)) continue
      const [pid] = name.slice(this.#sparePrefix.length).split('-')
      if (!isAlive(Number(pid))) await removeFolder(join(parent, name))
    }
  }

  /**
   * Returns a new path beside the folder. Later downloads to the same file recognize it by its prefix.
   *
   * @param {number} [pid]  the process that uses it
   */
  spareName (pid = process.pid) {
    return join(dirname(this.path), `${this.#sparePrefix}${pid}-${crypto.randomUUID()}`)
  }

  /**
   * The beginning of spare names. It has a hash of the file's name, because the name itself may be too long to be a
   * part of another name.
   */
  get #sparePrefix () {
    const id = hash(new TextEncoder().encode(basename(this.target))).subarray(0, 8)
    return `.baobox-${base16.baseEncode(id)}-`
  }

  /** Makes the folder, and those above it. Accepts a folder that another process makes at the same time. */
  async #make () {
    const draft = this.spareName()
    try {
      await (await BlobStore.open(draft)).close()
      await writeSynced(join(draft, MARK), MARK_TEXT)
      await syncFolder(draft)
      await rename(draft, this.path)
      await syncFolder(dirname(this.path))
    } catch (error) {
      await removeFolder(draft)
      const isTaken = TAKEN.includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')
      if (!isTaken) throw error // otherwise another call has made the folder
    }
  }

  async #isMarked () {
    if (!(await lstat(this.path).catch(unlessMissing))?.isDirectory()) return false
    const mark = join(this.path, MARK)
    const there = await lstat(mark).catch(unlessMissing)
    if (!there?.isFile() || there.size !== MARK_TEXT.length) return false
    const flag = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
    return await readFile(mark, { encoding: 'utf8', flag }).catch(unlessMissing) === MARK_TEXT
  }
}

/** @param {number} pid */
function isAlive (pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM' // of another user
  }
}

/** @param {string} path */
const removeFolder = path => rm(path, { recursive: true, force: true })

/** @param {string} path @param {string} text */
async function writeSynced (path, text) {
  const file = await withRoom(() => open(path, 'w'))
  try {
    await writeFile(file, text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Syncs a folder, so that changes of its entries survive a power cut. @param {string} path */
async function syncFolder (path) {
  if (process.platform === 'win32') return // Windows cannot open directories, and need not sync them.
  const folder = await withRoom(() => open(path, 'r'))
  await folder.sync().finally(() => folder.close())
}

/** @param {Error & { code?: string }} error @returns {undefined} */
function unlessMissing (error) {
  if (error.code !== 'ENOENT') throw error
}
