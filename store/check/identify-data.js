// Finds the blob to which orphaned data belongs, by computing the root of the tree in the data. If the blob with this
// root has a damaged record, that record named the data.

import { CHUNK_LEN, DEFAULT_GROUP_LOG as GROUP_LOG, HASH_LEN, PAIR_LEN } from '../../lib/core/constants.js'
import { equals } from 'uint8arrays/equals'
import { chunkCount } from '../../lib/tree/geometry.js'
import { Hasher, hash } from '../../lib/hash/hasher.js'
import { parentCv, rootHash } from '../../lib/hash/subtree.js'
import { PLACEHOLDER_ROOT, contentOf } from '../storage/content/content-of.js'
import { StoredOutboard } from '../storage/content/tree-pages.js'
import { GROUP_LEN } from '../sizes.js'
import { VIEWS, pathKey } from '../storage/format/keys.js'
import { orIfUnreadable } from '../storage/errors.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { SafeDatabase } from '../storage/level/safe-database.js' */

/** Level of the root of a blob of 2^53 - 1 bytes. */
const MAX_LEVEL = 42

/**
 * @typedef {'none' | 'records' | 'state'} Losses  what the index may have lost without a trace. `records`: the records
 *   of some blobs; `state`: these, and its latest state, so that the index may be older than the data
 */

/**
 * @typedef {object} Found  a blob that data may belong to
 * @property {Uint8Array} root
 * @property {BlobRecord} record  a record made for the data; nothing in it is proven
 * @property {number} len  where the stored bytes end, in bytes of the blob
 */

/**
 * Finds the blob to which data belongs, if no tag claims the data. If a subtree is the beginning of a blob, it
 * also looks like a blob, so the longest candidate counts.
 *
 * @param {Databases} databases @param {Catalog} catalog @param {number} id
 * @param {object} options
 * @param {boolean} options.hasFile  true if the id has a file
 * @param {Losses} options.losses  with `state`, the tree may be lost, too. Then the file is hashed to find its blob
 * @param {AbortSignal} [options.signal]
 * @returns {Promise<{ root: Uint8Array, record: BlobRecord, isNamed?: boolean } | undefined>} the record was made for
 *   the data, and nothing in it is proven. `isNamed`: true if a sound record names the data, although LevelDB did not
 *   show that record in its iteration
 * @throws the reason when the system cannot read the file
 */
export async function findRecord (databases, catalog, id, { hasFile, losses, signal }) {
  const unknown = await unknownRecord(databases, id, hasFile)
  const { end, head, isInParts } = await inspectBytes(databases, unknown)
  let damaged, unrecorded
  for await (const { root, size } of candidates(databases.data, id, end, head)) {
    const { isThere, record } = await catalog.find(root)
    if (record?.id === id) return { root, record, isNamed: true }
    const found = { root, record: { ...unknown, size } }
    if (isThere && record === undefined) damaged = found
    // Without any record, only a whole blob counts, because data of an interrupted put may look like a part of a blob.
    unrecorded = !isThere && size === end ? found : undefined
  }
  if (damaged !== undefined || losses === 'none') return damaged
  if (losses !== 'state' || !hasFile || isInParts || end === 0) return unrecorded
  // The pairs may be older than the file, when blobs have shared it.
  const root = await hashFile(databases, unknown, end, signal)
  const { record } = await catalog.find(root)
  return record === undefined ? { root, record: { ...unknown, size: end } } : undefined
}

/**
 * Yields all blobs, whole or in part, that data may belong to, the longest one last.
 *
 * @param {Databases} databases @param {number} id @param {boolean} hasFile
 * @returns {AsyncGenerator<Found>}
 * @throws the reason when the system cannot read the file
 */
export async function * possibleBlobs (databases, id, hasFile) {
  const unknown = await unknownRecord(databases, id, hasFile)
  const { end, head } = await inspectBytes(databases, unknown)
  for await (const { root, size } of candidates(databases.data, id, end, head)) {
    yield { root, record: { ...unknown, size }, len: end }
  }
}

/** @param {Databases} databases @param {number} id @param {boolean} hasFile @returns {Promise<BlobRecord>} */
async function unknownRecord (databases, id, hasFile) {
  const hasPath = await orIfUnreadable(databases.index.get(pathKey(id), VIEWS)) !== undefined
  const home = hasFile ? 'file' : hasPath ? 'reference' : 'extents'
  return { id, size: Number.MAX_SAFE_INTEGER, sizeProven: false, complete: false, home, created: Date.now() }
}

/** Bytes in one read of a file. */
const PIECE_LEN = 1 << 20

/** @param {Databases} databases @param {BlobRecord} record @param {number} end @param {AbortSignal} [signal] */
async function hashFile (databases, record, end, signal) {
  const hasher = new Hasher()
  const file = contentOf(databases, PLACEHOLDER_ROOT, record).reader()
  try {
    for (let at = 0; at < end; at += PIECE_LEN) {
      signal?.throwIfAborted()
      hasher.update(await file.read(at, Math.min(at + PIECE_LEN, end)))
    }
    return hasher.digest()
  } finally {
    await file.close()
  }
}

/**
 * Reads the first group, and finds where the bytes end, and whether there are marks of present groups. A blob has these
 * marks if slices have brought only a part of it.
 *
 * @param {Databases} databases @param {BlobRecord} record
 */
async function inspectBytes (databases, record) {
  const scan = contentOf(databases, PLACEHOLDER_ROOT, record).scan()
  try {
    const head = await scan.read(0, GROUP_LEN)
    await scan.finish()
    if (scan.failure !== undefined) throw scan.failure
    return { end: scan.end, head, isInParts: !scan.marked.isEmpty }
  } finally {
    await scan.close()
  }
}

/**
 * Yields the roots of the blobs to which the data may belong, the longest blob last, each with a size with which all
 * stored groups can be proven.
 *
 * @param {SafeDatabase} data @param {number} id @param {number} end @param {Uint8Array} head
 */
async function * candidates (data, id, end, head) {
  if (end > 0 && end <= GROUP_LEN) yield { root: hash(head.subarray(0, end)), size: end }
  const outboard = new StoredOutboard(data, PLACEHOLDER_ROOT, { id, size: 0 }, VIEWS)
  /** @param {number} node */
  const pairOf = async node => {
    const pair = new Uint8Array(PAIR_LEN)
    await outboard.prepare([node])
    return outboard.copyPair({ node }, pair, 0) ? pair : undefined
  }
  for (let level = GROUP_LOG; level <= MAX_LEVEL; level++) {
    const pair = await pairOf(2 ** level - 1)
    if (pair === undefined) continue
    const [from, to] = await sizesOf(level, pair, pairOf)
    const chunks = chunkCount(end)
    const size = chunks > from && chunks <= to ? end : to * CHUNK_LEN
    yield { root: rootHash(pair.subarray(0, HASH_LEN), pair.subarray(HASH_LEN)), size }
  }
}

/**
 * Returns how many chunks a blob may have. It follows the right edge of the tree down to the lowest known pair, which
 * bounds the number of chunks.
 *
 * @param {number} level  of the root
 * @param {Uint8Array} pair  of the root
 * @param {(node: number) => Promise<Uint8Array | undefined>} pairOf
 * @returns {Promise<[moreThan: number, atMost: number]>}
 */
async function sizesOf (level, pair, pairOf) {
  let middle = 2 ** level
  for (let below = level - 1; below >= GROUP_LOG; below--) {
    const next = await pairOf(middle + 2 ** below - 1)
    if (next === undefined) continue
    const cv = parentCv(next.subarray(0, HASH_LEN), next.subarray(HASH_LEN))
    if (!equals(cv, pair.subarray(HASH_LEN))) continue
    middle += 2 ** below
    pair = next
    level = below
  }
  return [middle, middle + 2 ** level]
}
