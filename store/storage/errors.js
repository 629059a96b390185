// What goes wrong with a store, as errors with stable codes.

import { BaoError } from '../../lib/core/errors.js'
import { CHUNK_LEN } from '../../lib/core/constants.js'
import { levelOf } from '../../lib/tree/geometry.js'
import { toCid } from '../../lib/hash/cid.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */

/** @param {string} location */
export const absent = location => new BaoError('STORE_ABSENT', `there is no store at ${location}`, { location })

/** @param {string} location @param {unknown} [cause] */
export const locked = (location, cause) => new BaoError('STORE_LOCKED', `another process or store has ${location} open`, { location, cause })

/** @param {string} location @param {number} version  of its layout */
export const unknownLayout = (location, version) =>
  new BaoError('STORE_VERSION', `this release does not know layout ${version} of the store at ${location}`, { location })

/** @param {unknown} [cause] */
export const closed = cause => new BaoError('STORE_CLOSED', 'the store is closed', { cause })

/** @param {Uint8Array} root */
export const notFound = root => new BaoError('STORE_NOT_FOUND', `${toCid(root)} is not in the store`, { cid: toCid(root) })

/** What was asked for by another name. Who keeps blocks goes by the name of this error. @param {CID} cid @param {unknown} [cause] */
export const blockNotFound = (cid, cause) =>
  Object.assign(new BaoError('STORE_NOT_FOUND', `${cid} is not in the store`, { cid, cause }), { name: 'NotFoundError' })

/** @param {CID} cid */
export const mismatch = cid => new BaoError('CID_MISMATCH', `these bytes are not what ${cid} names`, { cid })

/** @param {CID} cid @param {number} len  bytes that it may have */
export const blockTooLong = (cid, len) => new BaoError('BLOCK_TOO_LONG', `${cid} has more than ${len} bytes, which is what "maxBlockLen" allows`, { cid, len })

/** What is kept under a name has another hash. @param {CID} cid */
export const damagedAlias = cid => new BaoError('STORE_CORRUPT', `what is kept as ${cid} is something else`, { cid })

/** @param {Uint8Array} root @param {ChunkRanges} ranges @param {unknown} [cause]  why they cannot be read now */
export const missing = (root, ranges, cause) =>
  new BaoError('STORE_MISSING', `parts of ${toCid(root)} are not here`, { cid: toCid(root), ranges, cause })

/**
 * The store writes to nothing that it does not have for itself alone.
 *
 * @param {string} path  where a file of the store should be
 * @param {unknown} cause
 */
export const obstructed = (path, cause) => new BaoError('STORE_CORRUPT',
  `the store cannot write to ${path}, or must not: ${/** @type {Error} */ (cause).message}`, { location: path, cause })

/** @param {Uint8Array} root @param {unknown} cause */
export const changed = (root, cause) => new BaoError('STORE_CHANGED', `${toCid(root)} was replaced while it was read`, { cid: toCid(root), cause })

/** @param {Uint8Array} [root]  undefined when not even that can be read */
export const damagedRecord = root => root === undefined
  ? new BaoError('STORE_CORRUPT', 'the index of the store is damaged')
  : new BaoError('STORE_CORRUPT', `the record of ${toCid(root)} is damaged`, { cid: toCid(root) })

/** @param {string} tag */
export const damagedTag = tag => new BaoError('STORE_CORRUPT', `the tag '${tag}' is damaged`, { tag })

/** Nothing may be swept then: what is protected cannot be told. */
export const damagedTags = () => new BaoError('STORE_CORRUPT', 'tags are damaged: under their names others are kept than beside their blobs')

/** @param {string} tag */
export const tagNotFound = tag => new BaoError('STORE_TAG_NOT_FOUND', `there is no tag '${tag}'`, { tag })

/** @param {Uint8Array} root @param {string} [tag]  unless it is a temporary one */
export const tagged = (root, tag) =>
  new BaoError('STORE_TAGGED', `${toCid(root)} is kept by ${tag === undefined ? 'a temporary tag' : `the tag '${tag}'`}`, { cid: toCid(root), tag })

/** @param {number} wanted  bytes @param {number} got  bytes */
export const full = (wanted, got) => new BaoError('STORE_FULL', `the quota leaves no room: of ${wanted} bytes ${got} could be had`, { wanted, got })

/** @param {unknown} cause */
export const noRoom = cause => new BaoError('STORE_FULL', 'there is no room left, on the disk or of what the browser gives to this site', { cause })

/** Did a write fail because there is no room? A browser has a name for that, the system a code, and LevelDB words. @param {unknown} error */
export function isNoRoom (error) {
  const { name, code = '', errno, message = '' } = /** @type {NodeJS.ErrnoException} */ (error ?? {})
  const isSaid = code === 'LEVEL_IO_ERROR' && /no space left|disk quota exceeded/i.test(message)
  return isSaid || name === 'QuotaExceededError' || code === 'ENOSPC' || code === 'EDQUOT' || errno === LINUX_EDQUOT
}

/** Node.js has no name for the error of Linux that says that a user's share of the disk is full. */
const LINUX_EDQUOT = -122

/**
 * What a failed write to a database, or to open it again, is told as.
 *
 * @param {unknown} error  of a level, or of the disk
 */
export function toldAsWriteFailed (error) {
  if (error instanceof BaoError || isNoRoom(error)) return toldAsFull(error)
  const { code = '', message } = /** @type {{ code?: string, message?: string }} */ (error ?? {})
  if (!code.startsWith('LEVEL_') || code === 'LEVEL_DATABASE_NOT_OPEN') return error
  return new BaoError('STORE_WRITE_FAILED', `the store could not be written to: ${message}`, { cause: error })
}

/** @param {string} location @param {unknown} cause */
export function notReopened (location, cause) {
  const { message } = /** @type {Error} */ (cause)
  const what = `a write failed, and a database of the store at ${location} could not be opened again: ${message}`
  return new BaoError('STORE_WRITE_FAILED', what, { location, cause })
}

/** @param {string} location @param {unknown} cause  the write that failed first */
export function acknowledgedLost (location, cause) {
  const what = `after a failed write the store at ${location} lacks what it had acknowledged: open it again and run fsck`
  return new BaoError('STORE_WRITE_FAILED', what, { location, cause })
}

/** @param {string} location */
export function moved (location) {
  const what = `the directory of the store was removed, moved or replaced while the store was open: ${location}`
  return new BaoError('STORE_MOVED', what, { location })
}

/** @param {unknown} cause */
export function reopened (cause) {
  const what = 'this read was ended, because the store opened a database again after a failed write: read again'
  return new BaoError('STORE_REOPENED', what, { cause })
}

/** Does this say that a level, or what reads it, has been closed? @param {unknown} error */
export function isNotOpen (error) {
  const { code = '' } = /** @type {{ code?: string }} */ (error ?? {})
  return ['LEVEL_DATABASE_NOT_OPEN', 'LEVEL_ITERATOR_NOT_OPEN', 'LEVEL_SNAPSHOT_NOT_OPEN'].includes(code)
}

/** What a failure is told as. @param {unknown} error */
export const toldAsFull = error => isNoRoom(error) ? noRoom(error) : error

/** Stored bytes did not verify, or were not there. @param {Uint8Array} root @param {number} size  bytes of the blob @param {BaoError} cause */
export function corrupt (root, size, cause) {
  const { start, len } = bytesInDoubt(cause, size)
  return new BaoError('STORE_CORRUPT', `bytes ${start} to ${start + len} of ${toCid(root)} are damaged`, { cid: toCid(root), start, len, cause })
}

/** A leaf's own, all below a parent. @param {BaoError} fault @param {number} size */
function bytesInDoubt ({ node, start = 0, len, wanted = 0 }, size) {
  if (node === undefined) return { start, len: len ?? wanted }
  const side = 2 ** levelOf(node) * CHUNK_LEN
  const first = (node + 1) * CHUNK_LEN - side
  return { start: first, len: Math.min(2 * side, size - first) }
}

/** Is this what LevelDB says of files that it cannot make sense of? A damaged table may send it to a place that no file has. @param {unknown} error */
export function isCorruption (error) {
  const { code, message } = /** @type {{ code?: string, message?: string }} */ (error ?? {})
  return code === 'LEVEL_CORRUPTION' || /^IO error: .*invalid argument$/i.test(message ?? '')
}

/** The code of what is there and is not a regular file. */
export const NOT_REGULAR = 'EFTYPE'

/** What the system calls a path that leads to nothing, or to something else than a file. */
const NO_FILE = new Set([
  'ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EMLINK', 'EISDIR', 'ENXIO', 'ENODEV', 'EOPNOTSUPP',
  'ENOTSUP', NOT_REGULAR
])

/** Is there no file to be opened? @param {unknown} error */
export const isNoFile = error => NO_FILE.has(/** @type {NodeJS.ErrnoException} */ (error)?.code ?? '')

/** May the file not be opened by this process? @param {unknown} error */
export const isDenied = error => ['EACCES', 'EPERM'].includes(/** @type {NodeJS.ErrnoException} */ (error)?.code ?? '')

/**
 * Has the system failed to open or read a file? That says nothing of its bytes. (Codes of Node.js itself have an
 * underscore.)
 *
 * @param {unknown} error
 */
export const isOfSystem = error => /^E[A-Z0-9]+$/.test(/** @type {NodeJS.ErrnoException} */ (error)?.code ?? '')

/** Stands for a value that cannot be read: nothing that is decoded is so short, so whoever decodes it finds it damaged. */
export const DAMAGED = new Uint8Array(0)

/**
 * What the database itself finds damaged is as good as not there: the tree says what that means.
 *
 * @template T @param {Promise<T>} reading @param {T} [otherwise]
 */
export const readable = (reading, otherwise) => reading.catch(error => {
  if (!isCorruption(error)) throw error
  return otherwise
})

/**
 * What can be read of many entries. Where LevelDB leaves some out it says so at the end.
 *
 * @template T @param {AsyncIterable<T>} entries
 * @param {() => void} [onDamage]
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
