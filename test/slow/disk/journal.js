// Reads the journal of the shim, and builds the folder that a power cut leaves, by the rules of a file system with a
// journal, such as ext4 and XFS.
//
// - Changes of names in folders reach the disk in their order. A sync of a folder brings all changes up to the last one
//   in it; a sync of a file all changes up to its creation.
// - Bytes of a file are on the disk if they were written before the beginning of a sync that has ended. Of later
//   writes to a file of LevelDB the first ones are there, the last of them perhaps torn, and after them nothing or
//   zeros; of later writes to a blob file, any pages of 4 KiB, and zeros between them.
import { constants } from 'node:buffer'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const HEAD_LEN = 32
const PAGE_LEN = 4096
/** Kinds of entries, as in shim.c. */
export const [CREATE, WRITE, TRUNCATE, SYNC_BEGIN, SYNC_END, RENAME, UNLINK, MKDIR, RMDIR, MARK] = Array(10).keys()

/** @typedef {{ kind: number, path: string, other: string, file: bigint, offset: number, bytes: Uint8Array }} Entry */

/** @param {Uint8Array} journal @returns {Entry[]} */
export function entriesOf (journal) {
  const view = new DataView(journal.buffer, journal.byteOffset)
  const entries = []
  for (let at = 0; at < journal.length;) {
    const [kind, pathLen, otherLen, len] = [0, 4, 8, 12].map(from => view.getUint32(at + from, true))
    const from = at + HEAD_LEN
    const text = (start, end) => Buffer.from(journal.subarray(start, end)).toString()
    entries.push({
      kind,
      path: text(from, from + pathLen),
      other: text(from + pathLen, from + pathLen + otherLen),
      file: view.getBigUint64(at + 16, true),
      offset: Number(view.getBigUint64(at + 24, true)),
      bytes: journal.subarray(from + pathLen + otherLen, from + pathLen + otherLen + len)
    })
    at = from + pathLen + otherLen + len
  }
  return entries
}

/**
 * The fate of a page of a change. `zeros`: the file gets longer by the page, which has zeros.
 *
 * @typedef {(change: number, page: number) => 'here' | 'zeros' | 'absent'} Fate
 */

/** A file: all changes of its bytes, and how many of them the disk has. */
class File {
  /** The index of the change of names that made it. */
  born
  changes = /** @type {Entry[]} */ ([])
  synced = 0

  /** @param {number} born */
  constructor (born) {
    this.born = born
  }

  /** The bytes that a power cut leaves. @param {(late: Entry[]) => Fate} choose  for changes that may be lost */
  bytes (choose) {
    const content = new Content()
    for (const change of this.changes.slice(0, this.synced)) content.apply(change)
    const late = this.changes.slice(this.synced)
    const fate = choose(late)
    for (const [i, change] of late.entries()) content.apply(change, page => fate(i, page))
    return content.bytes()
  }
}

/** The bytes of a file as they grow. */
class Content {
  #bytes = new Uint8Array(0)
  #len = 0

  /** @param {Entry} change @param {(page: number) => ReturnType<Fate>} [fate]  of its pages */
  apply ({ kind, offset, bytes }, fate = () => 'here') {
    if (kind === TRUNCATE) {
      if (fate(0) !== 'here') return
      this.#grow(offset)
      this.#bytes.fill(0, offset)
      this.#len = offset
      return
    }
    for (let at = 0; at < bytes.length;) {
      const page = Math.floor((offset + at) / PAGE_LEN)
      const end = Math.min(bytes.length, (page + 1) * PAGE_LEN - offset)
      const what = fate(page)
      if (what !== 'absent') {
        this.#grow(offset + end)
        this.#len = Math.max(this.#len, offset + end)
        if (what === 'here') this.#bytes.set(bytes.subarray(at, end), offset + at)
      }
      at = end
    }
  }

  bytes () { return this.#bytes.slice(0, this.#len) }

  /** @param {number} len */
  #grow (len) {
    if (len <= this.#bytes.length) return
    const bytes = new Uint8Array(Math.min(Math.max(len, 2 * this.#bytes.length), constants.MAX_LENGTH))
    bytes.set(this.#bytes)
    this.#bytes = bytes
  }
}

/** Follows a journal, and builds the folder that a power cut leaves. */
export class Disk {
  #files = /** @type {Map<bigint, File>} */ (new Map())
  /** Changes of names, in their order. */
  #names = /** @type {{ kind: number, path: string, other: string, file?: File }[]} */ ([])
  /** How many of them the disk has. */
  #syncedNames = 0
  #syncs = /** @type {Map<number, () => void>} */ (new Map())

  /** @param {Entry} entry  the next */
  follow (entry) {
    const { kind, path, other, file, offset } = entry
    if (kind === CREATE) {
      const made = new File(this.#names.length)
      this.#files.set(file, made)
      this.#names.push({ kind, path, other, file: made })
    } else if ([RENAME, UNLINK, MKDIR, RMDIR].includes(kind)) {
      this.#names.push({ kind, path, other })
    } else if (kind === WRITE || kind === TRUNCATE) {
      this.#files.get(file)?.changes.push(entry)
    } else if (kind === SYNC_BEGIN) {
      this.#syncs.set(offset, path === '' ? this.#syncOfFile(file) : this.#syncOfFolder(path))
    } else if (kind === SYNC_END) {
      this.#syncs.get(offset)?.()
      this.#syncs.delete(offset)
    }
  }

  /** @param {bigint} number */
  #syncOfFile (number) {
    const file = this.#files.get(number)
    const count = file?.changes.length ?? 0
    return () => {
      if (file === undefined) return
      file.synced = Math.max(file.synced, count)
      this.#syncedNames = Math.max(this.#syncedNames, file.born + 1)
    }
  }

  /** @param {string} path */
  #syncOfFolder (path) {
    const isIn = (/** @type {string} */ name) => name !== '' && dirname(name) === path
    const count = this.#names.findLastIndex(({ path, other }) => isIn(path) || isIn(other)) + 1
    return () => { this.#syncedNames = Math.max(this.#syncedNames, count) }
  }

  /**
   * Writes the folder that a power cut at this moment leaves.
   *
   * @param {string} folder  made
   * @param {import('../../fuzz/random.js').Random | 'least'} [random]  `least`: everything is lost that may be;
   *   undefined: nothing is lost
   */
  async write (folder, random) {
    const late = this.#names.length - this.#syncedNames
    const more = random === 'least' ? 0 : random === undefined ? late : random.pick([0, late, random.below(late + 1)])
    const count = this.#syncedNames + more
    const folders = new Set()
    const files = /** @type {Map<string, File | undefined>} */ (new Map())
    for (const { kind, path, other, file } of this.#names.slice(0, count)) {
      if (kind === MKDIR) folders.add(path)
      else if (kind === RMDIR) folders.delete(path)
      else if (kind === CREATE) files.set(path, file)
      else if (kind === RENAME && folders.has(path)) moveAll(folders, files, path, other)
      else if (kind === RENAME) files.set(other, files.get(path))
      if (kind === UNLINK || kind === RENAME) files.delete(path)
    }
    await mkdir(folder, { recursive: true })
    for (const path of folders) await mkdir(join(folder, path), { recursive: true })
    for (const [path, file] of files) {
      if (file !== undefined) await writeFile(join(folder, path), file.bytes(late => fateOf(late, path, random)))
    }
  }
}

/**
 * Gives a folder another name, with all that is in it.
 *
 * @param {Set<string>} folders @param {Map<string, File | undefined>} files @param {string} from @param {string} to
 */
function moveAll (folders, files, from, to) {
  const isIn = (/** @type {string} */ path) => path === from || path.startsWith(`${from}/`)
  const moved = (/** @type {string} */ path) => to + path.slice(from.length)
  for (const path of [...folders].filter(isIn)) {
    folders.delete(path)
    folders.add(moved(path))
  }
  for (const path of [...files.keys()].filter(isIn)) {
    files.set(moved(path), files.get(path))
    files.delete(path)
  }
}

/**
 * Chooses the fate of changes that no sync has brought to the disk.
 *
 * @param {Entry[]} late @param {string} path  of their file
 * @param {import('../../fuzz/random.js').Random | 'least' | undefined} random
 * @returns {Fate}
 */
function fateOf (late, path, random) {
  if (random === undefined || late.length === 0) return () => 'here'
  if (random === 'least') return () => 'absent'
  const way = random.pick(['all', 'none', 'first', 'first', 'first', 'zeros'])
  if (way === 'all') return () => 'here'
  if (way === 'none') return () => 'absent'
  if (/(^|\/)blobs\/\d+$/.test(path)) return fateOfPages(late, random)
  const whole = random.below(late.length + 1)
  const torn = Math.floor((late[whole]?.offset ?? 0) / PAGE_LEN) + random.below(64)
  const behind = way === 'zeros' ? 'zeros' : 'absent'
  return (i, page) => i < whole || (i === whole && page < torn) ? 'here' : behind
}

/**
 * Chooses the moment whose state of a page reaches the disk.
 *
 * @param {Entry[]} late @param {import('../../fuzz/random.js').Random} random @returns {Fate}
 */
function fateOfPages (late, random) {
  const moments = new Map()
  return (i, page) => {
    if (!moments.has(page)) moments.set(page, random.pick([0, late.length, random.below(late.length + 1)]))
    return i < moments.get(page) ? 'here' : 'absent'
  }
}
