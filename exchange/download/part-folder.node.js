// The folder beside a file in which a download keeps the data of the file until it is whole. One rename makes the
// folder appear together with a mark inside it, and another rename makes it disappear. So even after a process was
// killed, a folder without the mark does not belong to a download, and is left alone.

import { constants } from 'node:fs'
import { lstat, mkdir, open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { base16 } from 'multiformats/bases/base16'
import { areEqual } from '../../lib/core/bytes.js'
import { BaoError } from '../../lib/core/errors.js'
import { hash, hashStream } from '../../lib/hash/index.js'
import { withRoom } from '../../lib/source/open-files.js'

const MARK = 'unfinished-download'
const MARK_TEXT =
  'This folder has what a download of baobox has brought so far. It is deleted when the download ends.\n'
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
   * @throws {Error} EISDIR, ENOTDIR; PATH_EXISTS { location }
   */
  async prepare () {
    const { target, path } = this
    if ((await stat(target).catch(unlessMissing))?.isDirectory()) {
      throw Object.assign(new Error(`${target} is a folder: give the path of a file in it`), { code: 'EISDIR' })
    }
    const there = await lstat(path).catch(unlessMissing)
    if (there !== undefined && !there.isDirectory()) {
      const message = `${path} is not a folder, and the download needs one there: ${ADVICE}`
      throw Object.assign(new Error(message), { code: 'ENOTDIR' })
    }
    if (there === undefined) await this.#make()
    if (await this.#isMarked()) return
    throw new BaoError('PATH_EXISTS', `${path} is a folder that no download has made: ${ADVICE}`, { location: path })
  }

  /** Marks the folder again. If another download has removed it after `prepare`, the opening of a store has made it. */
  async markAgain () {
    if (!await this.#isMarked()) await writeSynced(join(this.path, MARK), MARK_TEXT)
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
    if (!await this.#isMarked()) return // Another program has put its own folder there.
    const left = this.spareName()
    await rename(this.path, left)
    await removeFolder(left)
  }

  /**
   * Removes the folders that killed downloads to the same file have left while they made or removed their folder. The
   * caller has the store in the folder open, so no other download is making the folder now.
   */
  async removeLeftovers () {
    const parent = dirname(this.path)
    const left = (await readdir(parent)).filter(name => name.startsWith(this.#sparePrefix))
    for (const name of left) await removeFolder(join(parent, name))
  }

  /** Returns a new path beside the folder. Later downloads to the same file recognize it by its prefix. */
  spareName () { return join(dirname(this.path), this.#sparePrefix + crypto.randomUUID()) }

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
      await mkdir(draft, { recursive: true })
      await writeSynced(join(draft, MARK), MARK_TEXT)
      await syncFolder(draft)
      await rename(draft, this.path)
      await syncFolder(dirname(this.path))
    } catch (error) {
      await removeFolder(draft)
      const names = await readdir(this.path).catch(unlessMissing) ?? []
      if (names.length === 0) throw error
    }
  }

  async #isMarked () {
    if (!(await lstat(this.path).catch(unlessMissing))?.isDirectory()) return false
    const mark = join(this.path, MARK)
    const there = await lstat(mark).catch(unlessMissing)
    if (!there?.isFile() || there.size !== MARK_TEXT.length) return false
    return await readFile(mark, { encoding: 'utf8', flag: O_RDONLY | O_NOFOLLOW | O_NONBLOCK }) === MARK_TEXT
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
