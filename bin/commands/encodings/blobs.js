// Opens the blobs and hash trees from which encodings are made: files, stdin, and blobs of a store.

import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hash, hashStream, outboardLen, rootHash, walk } from '../../../lib/index.js'
import { HASH_LEN, PAIR_LEN } from '../../../lib/core/constants.js'
import { openEncoding, openOutboard, writeOutboard } from '../../../encoder/index.js'
import { replaceFile } from '#files'
import { Failure, UsageError } from '../../terminal/errors.js'
import { openInput } from '../../terminal/input.js'
import { withProgress } from '../../terminal/progress.js'
import { isRoot, rootIn, withStore } from '../store/open.js'

/** @import { RandomAccess } from '../../../lib/core/types.js' */
/** @import { PagedOutboard } from '../../../lib/outboard/paged-outboard.js' */
/** @import { Outboard } from '../../../encoder/outboard.js' */
/** @import { BlobStore } from '../../../store/index.js' */
/** @import { Context } from '../../types.js' */

/**
 * @typedef {object} StoredBlob
 * @property {BlobStore} store
 * @property {Uint8Array} root
 */
/**
 * @typedef {object} OpenBlob
 * @property {string} name
 * @property {number} size  bytes
 * @property {string | RandomAccess} source  a path, or a reader of the blob in a store
 * @property {StoredBlob} [stored]  if the blob is in a store
 */

/** @typedef {Outboard | PagedOutboard} OpenOutboard  in memory, or read from a file when it is needed */

/** The group log of the trees in a store. */
export const STORE_LOG = 4
/** Bytes of the header, the size before outboards and encodings. */
const HEADER_LEN = 8

/**
 * True if an operand names a blob of a store. A CID always does. A tag does only if there is no file with its name.
 *
 * @param {string} name @param {string | undefined} dir  the value of --store
 */
export async function isInStore (name, dir) {
  if (name === '-') return false
  if (isRoot(name) || dir !== undefined) return true
  return !/[/\\]/.test(name) && await stat(name).then(() => false, error => error.code === 'ENOENT')
}

/**
 * Opens the blob that an operand names, until `use` has ended.
 *
 * @template T
 * @param {string} name  a file, `-`, a CID or a tag
 * @param {string | undefined} dir  the value of --store
 * @param {Context} context
 * @param {(blob: OpenBlob) => Promise<T>} use
 */
export async function withBlob (name, dir, context, use) {
  if (!await isInStore(name, dir)) {
    return withFile(name, context, async path => use({ name, source: path, size: (await stat(path)).size }))
  }
  return withStored(name, dir, context, async stored => {
    const { store, root } = stored
    const { signal } = context
    const { size } = await store.stat(root)
    /** @type {RandomAccess} */
    const source = { size, read: (start, end) => store.bytes(root, { start, end }, { signal }) }
    return use({ name, source, size, stored })
  })
}

/**
 * Opens the store of a blob, until `use` has ended.
 *
 * @template T
 * @param {string} name @param {string | undefined} dir @param {Context} context
 * @param {(blob: StoredBlob) => Promise<T>} use
 */
export const withStored = (name, dir, context, use) => withStore({ store: dir }, context, async store =>
  use({ store, root: await rootIn(store, name) }), { onlyReads: true }).catch(error => {
  // A word that is neither a file nor a CID may be a misspelt file name, so the message also names the file.
  if (error instanceof Failure && dir === undefined && !isRoot(name)) {
    throw new Failure(`there is no file '${name}', and ${error.message}`, { cause: error.cause })
  }
  throw error
})

/**
 * Calls `use` with the path of a file that can be read at any offset. Stdin and pipes are copied to a temporary file.
 *
 * @template T
 * @param {string} name @param {Context} context @param {(path: string) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function withFile (name, { signal }, use) {
  if (name !== '-' && (await stat(name)).isFile()) return use(name)
  return withTemporary(async path => {
    const input = await openInput(name, signal)
    await replaceFile(path, input.pieces, { sync: false })
    return use(path)
  })
}

/** Calls `use` with the path of a temporary file. @template T @param {(path: string) => Promise<T>} use */
export async function withTemporary (use) {
  const folder = await mkdtemp(join(tmpdir(), 'baobox-'))
  try {
    return await use(join(folder, 'file'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Makes the outboard of a blob in a temporary file, or takes it from the store.
 *
 * @template T
 * @param {OpenBlob} blob @param {number} groupLog @param {Context} context
 * @param {(outboard: OpenOutboard) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function withOutboard ({ name, size, source, stored }, groupLog, { signal }, use) {
  if (stored && groupLog === STORE_LOG) return use(await stored.store.outboard(stored.root, { signal }))
  return withTemporary(async path => {
    const info = await withProgress({ name, size }, onProgress =>
      writeOutboard(source, path, { groupLog, signal, onProgress }))
    const outboard = await openOutboard(path, info)
    return use(outboard).finally(() => outboard.close())
  })
}

/**
 * Opens an outboard file as bao, bao-tree and iroh write it: all pairs in pre-order, with or without the size before
 * them.
 *
 * @template T
 * @param {string} path
 * @param {{ root?: Uint8Array, blob: string, groupLog: number, name: string }} terms  `blob`: the path of the blob;
 *   `name`: of the outboard, for errors; without `root`, the root is computed from the outboard. All bytes are verified
 *   against the root, so a blob that does not fit the outboard is detected
 * @param {(outboard: OpenOutboard) => Promise<T>} use
 * @returns {Promise<T>}
 */
async function withOutboardFile (path, { root, blob, groupLog, name }, use) {
  const [{ size }, { size: len }] = await Promise.all([stat(blob), stat(path)])
  const pairsLen = outboardLen(size, groupLog)
  if (len !== pairsLen && len !== pairsLen + HEADER_LEN) {
    throw new Failure(`${name} is not the outboard of ${blob} at group log ${groupLog}: ` +
      `it has ${len} bytes, expected ${pairsLen + HEADER_LEN} with the size before it, or ${pairsLen} without`)
  }
  // A file of length 0 is the outboard of a blob of one group, without a header, so nothing is read.
  const info = { size, groupLog, header: len !== pairsLen }
  const known = root ?? await rootOfOutboard(path, blob, info)
  const outboard = await openOutboard(path, { ...info, cid: known })
  return use(outboard).finally(() => outboard.close())
}

/**
 * Opens a blob and its outboard, each in a file, or one of them on stdin.
 *
 * @template T
 * @param {string} name  of the blob @param {string} outboard  the value of --outboard
 * @param {{ root?: Uint8Array, groupLog: number }} terms  see `withOutboardFile`
 * @param {Context} context
 * @param {(blob: string, outboard: OpenOutboard) => Promise<T>} use  `blob` is a path
 * @returns {Promise<T>}
 */
export function withBlobAndOutboard (name, outboard, terms, context, use) {
  if (name === '-' && outboard === '-') throw new UsageError('INPUT and --outboard cannot both be -')
  return withFile(name, context, blob => withFile(outboard, context, path =>
    withOutboardFile(path, { ...terms, blob, name: outboard }, opened => use(blob, opened))))
}

/** @param {string} path @param {string} blob @param {{ size: number, groupLog: number, header: boolean }} info */
async function rootOfOutboard (path, blob, info) {
  const outboard = await openOutboard(path, { ...info, cid: new Uint8Array(HASH_LEN) })
  return topPair(outboard).then(pair => pair ? rootOfPair(pair) : hashStream(blob)).finally(() => outboard.close())
}

/**
 * Opens a combined encoding. Its root is computed from its first pair.
 *
 * @template T
 * @param {string} path @param {number} groupLog
 * @param {(encoding: { source: RandomAccess, outboard: PagedOutboard }) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function withEncoding (path, groupLog, use) {
  const nameless = await openEncoding(path, { cid: new Uint8Array(HASH_LEN), groupLog })
  const { outboard, source } = nameless
  const root = await topPair(outboard)
    .then(async pair => pair ? rootOfPair(pair) : hash(await source.read(0, outboard.size)))
    .finally(() => nameless.close())
  const encoding = await openEncoding(path, { cid: root, groupLog })
  return use(encoding).finally(() => encoding.close())
}

/**
 * The pair of the root, or undefined if the blob is a single group.
 *
 * @param {{ size: number, groupLog: number, pair: (node: number) => Promise<Uint8Array | undefined> }} outboard
 */
async function topPair (outboard) {
  if (outboardLen(outboard.size, outboard.groupLog) === 0) return undefined
  const [top] = walk(outboard.size, outboard.groupLog)
  return outboard.pair(top.node)
}

/** @param {Uint8Array} pair */
const rootOfPair = pair => rootHash(pair.subarray(0, HASH_LEN), pair.subarray(HASH_LEN, PAIR_LEN))
