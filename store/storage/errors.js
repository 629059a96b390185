// Makes the errors that a store throws, with stable codes, and recognises errors of LevelDB and of the system.

import { BaoError } from '../../lib/core/errors.js'
import { CHUNK_LEN } from '../../lib/core/constants.js'
import { levelOf } from '../../lib/tree/geometry.js'
import { toCid } from '../../lib/hash/cid.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */

/** @param {string} location */
export const absentError = location => new BaoError('STORE_ABSENT', `there is no store at ${location}`, { location })

/** @param {string} location @param {{ pid?: number, cause?: unknown }} [why]  `pid`: of the store's owner */
export function lockedError (location, { pid, cause } = {}) {
  const isOwn = pid !== undefined && pid === globalThis.process?.pid
  const who = pid === undefined ? 'somebody' : isOwn ? 'this process' : `process ${pid}`
  const text = `${who} has the store at ${location} open, or is rescuing it`
  return new BaoError('STORE_LOCKED', text, { location, pid, cause })
}

/** @param {string} [location] */
export function readOnlyError (location) {
  const where = location === undefined ? '' : ` at ${location}`
  return new BaoError('STORE_READ_ONLY', `the store${where} was opened for reading only`, { location })
}

/**
 * For a read-only store whose copy of the databases is older than the blob files, which another process has changed.
 *
 * @param {Uint8Array} root @param {unknown} cause
 */
export const outdated = (root, cause) => new BaoError('STORE_CHANGED',
  `${toCid(root)} cannot be read: the store was changed since it was opened for reading. Open it again`,
  { cid: toCid(root), cause })

/** @param {string} location @param {number} version  of its layout */
export const unknownLayout = (location, version) => new BaoError('STORE_VERSION',
  `the store at ${location} has layout ${version}, which this release does not know: use a later one`, { location })

/** @param {unknown} [cause] */
export const closedError = cause => new BaoError('STORE_CLOSED', 'the store is closed', { cause })

/** @param {Uint8Array} root */
export const notFound = root =>
  new BaoError('STORE_NOT_FOUND', `${toCid(root)} is not in the store`, { cid: toCid(root) })

/**
 * For a name by a hash function other than BLAKE3. Users of blockstores check the `name` of this error.
 *
 * @param {CID} cid @param {unknown} [cause]
 */
export function blockNotFound (cid, cause) {
  const error = new BaoError('STORE_NOT_FOUND', `${cid} is not in the store`, { cid, cause })
  return Object.assign(error, { name: 'NotFoundError' })
}

/** @param {CID} cid  the expected one @param {CID} [actual]  of the received bytes, if it is known */
export const mismatch = (cid, actual) => {
  const instead = actual === undefined ? '' : `: they are ${actual}`
  return new BaoError('CID_MISMATCH', `the bytes do not have the hash in ${cid}${instead}`, { cid, actual })
}

/** @param {number} wanted  bytes @param {number} got  bytes so far @param {CID} [cid]  of the blob, if it is known */
export const sizeMismatch = (wanted, got, cid) => new BaoError('SIZE_MISMATCH',
  `expected ${wanted} bytes, got ${got > wanted ? 'more' : got}`, { wanted, got, cid })

/** @param {CID} cid @param {number} len  the maximum length of the block, in bytes */
export const blockTooLong = (cid, len) =>
  new BaoError('BLOCK_TOO_LONG', `${cid} has more than ${len} bytes, the limit that "maxBlockBytes" sets`, { cid, len })

/** @param {CID} cid @param {number} len  bytes that its record claims */
export const blobTooLong = (cid, len) =>
  new BaoError('BLOB_TOO_LONG', `${cid} has ${len} bytes, more than "maxBytes" allows`, { cid, len })

/** For a damaged entry of the index that says which blob an alias leads to. @param {CID} cid */
export const damagedName = cid =>
  new BaoError('STORE_CORRUPT', `the entry of the alias ${cid} is damaged: put its block again`, { cid })

/** For bytes that are kept under an alias but have another hash. @param {CID} cid */
export const damagedAlias = cid => new BaoError('STORE_CORRUPT', `the bytes kept as ${cid} have another hash`, { cid })

/**
 * @param {Uint8Array} root @param {number} size  of the blob, in bytes
 * @param {ChunkRanges} ranges
 * @param {unknown} [cause]  why they cannot be read now
 */
export const missing = (root, size, ranges, cause) =>
  new BaoError('STORE_MISSING', `missing bytes ${spansOf(ranges, size)} of ${toCid(root)}`,
    { cid: toCid(root), ranges, cause })

/** A message shows at most this many ranges. */
const SHOWN_RANGES = 3

/**
 * Returns ranges in bytes as a string, for messages: `0-16384, 32768-`.
 *
 * @param {ChunkRanges} ranges @param {number} size  of the blob, in bytes
 */
function spansOf ({ boundaries }, size) {
  const spans = /** @type {string[]} */ ([])
  for (let i = 0; i < boundaries.length && spans.length < SHOWN_RANGES; i += 2) {
    const [start, end] = [boundaries[i] * CHUNK_LEN, boundaries[i + 1] * CHUNK_LEN]
    spans.push(`${start}-${Number.isNaN(end) ? '' : start < size ? Math.min(end, size) : end}`)
  }
  return spans.join(', ') + (boundaries.length > 2 * SHOWN_RANGES ? ', ...' : '')
}

/** @param {string} path  of a file of the store @param {unknown} cause  why the store cannot or must not write to it */
export const obstructed = (path, cause) => new BaoError('STORE_CORRUPT',
  `the store cannot write to ${path}: ${/** @type {Error} */ (cause).message}`, { location: path, cause })

/** @param {Uint8Array} root @param {unknown} cause */
export const changed = (root, cause) =>
  new BaoError('STORE_CHANGED', `${toCid(root)} was replaced while it was read: read it again`,
    { cid: toCid(root), cause })

/** @param {Uint8Array} [root]  undefined when the key is damaged, too */
export const damagedRecord = root => root === undefined
  ? new BaoError('STORE_CORRUPT', 'the index of the store is damaged: run fsck')
  : new BaoError('STORE_CORRUPT', `the record of ${toCid(root)} is damaged: run fsck`, { cid: toCid(root) })

/** @param {string} location @param {string} fault  names the damaged file and the damage */
export const damagedDatabase = (location, fault) => new BaoError('STORE_CORRUPT',
  `a database of the store at ${location} is damaged (${fault}): close the store, and call BlobStore.rescue`,
  { location })

/** @param {string} tag */
export const damagedTag = tag => new BaoError('STORE_CORRUPT', `the tag '${tag}' is damaged: run fsck`, { tag })

/** For damaged tags. The store cannot know what they protect, so it must not sweep anything. */
export const damagedTags = () =>
  new BaoError('STORE_CORRUPT', 'tags are damaged: the two places where they are kept do not agree. Run fsck')

/** For an index that may have lost records. The store cannot know which data is orphaned, so it must not sweep. */
export const damagedIndex = () => new BaoError('STORE_CORRUPT', 'the index of the store may have lost entries: it ' +
  'lacks its state, or there is data under ids that it has not given out. Run fsck with "repair" to find lost blobs')

/**
 * For a hash sequence that has lost some hashes to damage. The store cannot know which members its tag protects.
 *
 * @param {Uint8Array} root
 */
export const damagedSequence = root => new BaoError('STORE_CORRUPT',
  `the sequence ${toCid(root)} has lost a part to damage: put or receive it again, or delete its tag`,
  { cid: toCid(root) })

/**
 * For a tagged hash sequence without a record, while damage hides records. The store cannot know what its tag protects.
 *
 * @param {Uint8Array} root
 */
export const hiddenSequence = root => new BaoError('STORE_CORRUPT',
  `damage may hide the sequence ${toCid(root)}, whose members a tag protects: repair the store with fsck first`,
  { cid: toCid(root) })

/** @param {string} tag */
export const tagNotFound = tag => new BaoError('STORE_TAG_NOT_FOUND', `there is no tag '${tag}'`, { tag })

/** @param {Uint8Array} root @param {string} [tag]  undefined for a temporary tag */
export function tagged (root, tag) {
  const keeper = tag === undefined ? 'a temporary tag' : `the tag '${tag}'`
  return new BaoError('STORE_TAGGED', `${toCid(root)} is kept by ${keeper}`, { cid: toCid(root), tag })
}

/** @param {unknown} [cause] */
export const watchGap = cause => new BaoError('WATCH_GAP',
  'the log of changes has a gap after this point: list the store, and watch from now',
  { cause })

/** @param {number} wanted  bytes @param {number} got  bytes */
export const fullError = (wanted, got) =>
  new BaoError('STORE_FULL', `quota exceeded: ${wanted} bytes needed, ${got} available`, { wanted, got })

/** @param {unknown} cause */
export const diskFull = cause =>
  new BaoError('STORE_FULL', 'no space left on the disk, or in the storage that the browser gives to this site',
    { cause })

/**
 * Returns true for an error that says that no space is left. A browser says so by the name of the error, the system by
 * its code, and LevelDB by its message. When a database could not be opened, the reason is in the `cause` of the error.
 *
 * @param {unknown} error
 * @returns {boolean}
 */
export function isDiskFull (error) {
  const { name, code = '', errno, message = '', cause } = /** @type {NodeJS.ErrnoException} */ (error ?? {})
  if (code === 'LEVEL_DATABASE_NOT_OPEN') return isDiskFull(cause)
  const isSaid = code === 'LEVEL_IO_ERROR' && /no space left|disk quota exceeded/i.test(message)
  return isSaid || name === 'QuotaExceededError' || code === 'ENOSPC' || code === 'EDQUOT' || errno === LINUX_EDQUOT
}

/** Linux's error when a user's share of the disk is full. Node.js has no name for it. */
const LINUX_EDQUOT = -122

/**
 * Returns STORE_FULL for an error that says that no space is left, and any other error as it is.
 *
 * @param {unknown} error
 */
export const asStoreFull = error => isDiskFull(error) ? diskFull(error) : error

/**
 * Returns the error to throw when a database could not be written to, or could not be opened again.
 *
 * @param {unknown} error  of a level, or of the disk
 */
export function asWriteFailed (error) {
  if (error instanceof BaoError || isDiskFull(error)) return asStoreFull(error)
  const { code, message } = /** @type {{ code?: unknown, message?: string }} */ (error ?? {})
  // The errors of browsers have numbers as their codes.
  if (typeof code !== 'string' || !code.startsWith('LEVEL_') || code === 'LEVEL_DATABASE_NOT_OPEN') return error
  const text = `a database of the store could not be written: ${message}`
  return new BaoError('STORE_WRITE_FAILED', text, { cause: error })
}

/** @param {string} location @param {unknown} cause */
export function notReopened (location, cause) {
  const { message } = /** @type {Error} */ (cause)
  const text = `a database of the store at ${location} could not be opened again: ${message}`
  return new BaoError('STORE_WRITE_FAILED', text, { location, cause })
}

/** @param {string} location @param {unknown} [cause]  the write that failed first, if one has */
export function acknowledgedLost (location, cause) {
  const text = `the store at ${location} lacks writes that it had acknowledged: open it again and run fsck`
  return new BaoError('STORE_WRITE_FAILED', text, { location, cause })
}

/** @param {string} location */
export function movedError (location) {
  const text = `the directory of the store was removed, moved or replaced while the store was open: ${location}`
  return new BaoError('STORE_MOVED', text, { location })
}

/** @param {unknown} cause */
export function reopened (cause) {
  const text = 'the read ended because the store opened a database again: read again'
  return new BaoError('STORE_REOPENED', text, { cause })
}

/** Returns true for an error that says that a level, iterator or snapshot is closed. @param {unknown} error */
export function isNotOpen (error) {
  const { code = '' } = /** @type {{ code?: string }} */ (error ?? {})
  return ['LEVEL_DATABASE_NOT_OPEN', 'LEVEL_ITERATOR_NOT_OPEN', 'LEVEL_SNAPSHOT_NOT_OPEN'].includes(code)
}

/**
 * For stored bytes that do not match the root, or are missing.
 *
 * @param {Uint8Array} root @param {number} size  bytes of the blob @param {BaoError} cause
 */
export function corrupt (root, size, cause) {
  const { start, len } = bytesInDoubt(cause, size)
  const text = `bytes ${start}-${start + len} of ${toCid(root)} are damaged: receive them, or put the blob again`
  return new BaoError('STORE_CORRUPT', text, { cid: toCid(root), start, len, cause })
}

/** Returns the bytes of the failed leaf, or below the failed parent. @param {BaoError} fault @param {number} size */
function bytesInDoubt ({ node, start = 0, len, wanted = 0 }, size) {
  if (node === undefined) return { start, len: len ?? wanted }
  const side = 2 ** levelOf(node) * CHUNK_LEN
  const first = (node + 1) * CHUNK_LEN - side
  return { start: first, len: Math.min(2 * side, size - first) }
}

/**
 * Returns true for an error by which LevelDB says that its files are damaged. A damaged table may even make LevelDB
 * read at an impossible position, which the system reports as an invalid argument.
 *
 * @param {unknown} error
 */
export function isCorruption (error) {
  const { code, message } = /** @type {{ code?: string, message?: string }} */ (error ?? {})
  return code === 'LEVEL_CORRUPTION' || /^IO error: .*invalid argument$/i.test(message ?? '')
}

/** Returns true for an error that says that this process may not open a file. @param {unknown} error */
export const isDenied = error => ['EACCES', 'EPERM'].includes(/** @type {NodeJS.ErrnoException} */ (error)?.code ?? '')

/**
 * Returns true if the system has failed to open or read a file, whose bytes may still be right. Codes of the system
 * begin with `E` and do not have an underscore; Node.js's own codes have one.
 *
 * @param {unknown} error
 */
export const isOfSystem = error => /^E[A-Z0-9]+$/.test(/** @type {NodeJS.ErrnoException} */ (error)?.code ?? '')

/** The replacement for a value that cannot be read. Decoders report an empty value as damaged. */
export const DAMAGED = new Uint8Array(0)

/**
 * Waits for a read, and treats an entry that LevelDB cannot read as missing.
 *
 * @template T @param {Promise<T>} reading @param {T} [otherwise]  returned for an unreadable entry
 */
export const orIfUnreadable = (reading, otherwise) => reading.catch(error => {
  if (!isCorruption(error)) throw error
  return otherwise
})

/**
 * Yields the entries that LevelDB can read. LevelDB skips the others, and reports damage only at the end.
 *
 * @template T @param {AsyncIterable<T>} entries
 * @param {() => void} [onDamage]  called when LevelDB has skipped some
 * @returns {AsyncGenerator<T>}
 */
export async function * eachReadable (entries, onDamage) {
  try {
    yield * entries
  } catch (error) {
    if (!isCorruption(error)) throw error
    onDamage?.()
  }
}
