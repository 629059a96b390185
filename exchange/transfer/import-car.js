// Keeps the blocks of a CAR, version 1 or 2, after comparing each with its CID.

import { identity } from 'multiformats/hashes/identity'
import { sha256, sha512 } from 'multiformats/hashes/sha2'
import { HASH_LEN } from '../../lib/core/constants.js'
import { HASHSEQ, blake3, unsupported } from '../../lib/hash/cid.js'
import { nameOf } from '../../lib/hash/roots.js'
import { ByteQueue } from '../../lib/core/byte-queue.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { eitherOf } from '../../lib/source/async-util.js'
import { toPieces } from '../../lib/source/source.js'
import {
  FILE_FROM, LOOKUP_COUNT, assertName, assertStore, assertWritable, blockNotFound, blockTooLong
} from '../../store/interface.js'
import { MAX_BLOCK_LEN, asBlockstore } from '../blockstore/blockstore.js'
import { Name } from '../blockstore/block-name.js'
import { CarReader } from './car-reader.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BaoError } from '../../lib/core/errors.js' */
/** @import { Store } from '../../store/interface.js' */
/** @import { BlockstoreOptions, InputPair } from '../blockstore/blockstore.js' */
/** @import { Section } from './car-reader.js' */
/** @import { ProgressOptions, Source } from '../../lib/core/types.js' */

/**
 * @typedef {ProgressOptions & BlockstoreOptions & ImportRules} ImportOptions  `onProgress` gets `baobox:import`, in
 *   bytes of the archive
 */

/**
 * @typedef {object} ImportRules
 * @property {'refuse' | 'skip'} [unknown]  what to do with a block whose hash function is not known: `refuse` throws
 *   CID_UNSUPPORTED { cid }; `skip` leaves out the block and counts it. Default: `refuse`
 * @property {(root: CID, index: number) => string | undefined} [tagRoot]  returns the name of a tag for a root of the
 *   archive, or undefined for no tag. The tags are set once all blocks are kept. If a root is a sequence of hashes of
 *   blobs that the store has, its tag protects them, too
 */

/**
 * @typedef {object} ImportResult
 * @property {1 | 2} version  the version of the archive
 * @property {CID[]} roots  the roots that its header names
 * @property {Record<string, unknown>} metadata  the other fields of its header, for example those of MASL
 * @property {number} blocks  how many of its blocks were kept. A block that occurs twice is counted twice
 * @property {number} bytes  bytes of these blocks
 * @property {number} skipped  how many blocks were left out because their hash functions are not known
 */

const OPTIONS = ['unknown', 'tagRoot', 'hashers', 'maxBlockBytes', 'signal', 'onProgress']

/**
 * Keeps the blocks of a CAR, version 1 or 2, after comparing each with its CID. A block whose hash is not BLAKE3 is
 * kept under an alias, as `asBlockstore` does. After a failure, the blocks before it are kept.
 *
 * @param {Store} store
 * @param {Source} source
 * @param {ImportOptions} [options]
 * @returns {Promise<ImportResult>}
 * @throws {BaoError} CAR_INVALID { start }, CAR_TRUNCATED { start, wanted, got }, CID_MISMATCH { cid }, CID_UNSUPPORTED
 *   { cid }, BLOCK_TOO_LONG { cid, len }; STORE_FULL, as for `put`
 */
export async function importCar (store, source, options = {}) {
  assertKnownOptions(options, OPTIONS)
  const { unknown = 'refuse', tagRoot, hashers = [], maxBlockBytes = MAX_BLOCK_LEN, signal, onProgress } = options
  if (unknown !== 'refuse' && unknown !== 'skip') {
    throw new TypeError(`"unknown" expected 'refuse' or 'skip', got '${unknown}'`)
  }
  assertStore(store)
  assertWritable(store)
  const blocks = asBlockstore(store, { hashers, maxBlockBytes })
  const codes = new Set([identity, sha256, sha512, ...hashers].map(({ code }) => code))
  const ending = new AbortController()
  const either = eitherOf(eitherOf(signal, store.closing), ending.signal)
  const pieces = toPieces(source, { signal: either, onProgress, type: 'baobox:import' })
  const hold = store.tempTag()
  try {
    const car = new CarReader(pieces)
    const { version, roots, metadata } = await car.header()
    const named = namedRoots(roots, tagRoot)
    for (const cid of roots) if (new Name(cid).isOwn) hold.add(cid) // until their tags are set
    const result = { version, roots, metadata, blocks: 0, bytes: 0, skipped: 0 }
    const pairs = knownPairs(car, result, { codes, unknown, maxBlockBytes })
    for await (const cid of blocks.putMany(pairs, { signal })) if (cid !== undefined) result.blocks++
    // An archive may name the same root often, also with several codecs.
    const known = /** @type {Map<string, boolean>} */ (new Map())
    for (const { cid, tag } of named) {
      either?.throwIfAborted()
      if (await store.resolve(cid) === undefined) throw blockNotFound(cid)
      const name = nameOf(cid.multihash.digest)
      if (!known.has(name)) known.set(name, await hasOnlyMembers(store, cid, either))
      const isSequence = cid.code === HASHSEQ || known.get(name)
      await store.tags.set(tag, cid, { format: isSequence ? 'hashseq' : 'raw' })
    }
    return result
  } finally {
    hold.release()
    ending.abort() // so that this call does not wait for a stuck source
    await pieces.return(undefined).catch(() => {})
  }
}

/**
 * Yields the blocks that can be compared with their names. Long blocks with a BLAKE3 name are kept piece by piece;
 * other blocks are gathered in memory.
 *
 * @param {CarReader} car
 * @param {ImportResult} result
 * @param {{ codes: Set<number>, unknown: 'refuse' | 'skip', maxBlockBytes: number }} rules
 * @returns {AsyncGenerator<InputPair>}
 */
async function * knownPairs (car, result, { codes, unknown, maxBlockBytes }) {
  for await (const section of car.sections()) {
    const { cid, len } = section
    const { code, digest } = cid.multihash
    const isOwn = code === blake3.code && digest.length === HASH_LEN
    if (!isOwn && !codes.has(code)) {
      if (unknown === 'refuse') throw unsupported(cid, `hash function 0x${code.toString(16)}, which is not known`)
      result.skipped++
      continue
    }
    if (!isOwn && len > maxBlockBytes) throw blockTooLong(cid, maxBlockBytes)
    yield { cid, bytes: isOwn && len > FILE_FROM ? section.pieces : await gathered(section) }
    result.bytes += len
  }
}

/**
 * Gathers a block. Memory grows only with the bytes that are read, because the claimed length may be wrong.
 *
 * @param {Section} section
 */
async function gathered ({ len, pieces }) {
  const block = new ByteQueue()
  for await (const piece of pieces) block.push(piece, len)
  return block.bytes.slice()
}

/**
 * Returns true if a blob is a sequence of hashes of blobs that the store has. Archives do not say which of their blobs
 * are sequences.
 *
 * @param {Store} store @param {CID} cid @param {AbortSignal} [signal]
 */
async function hasOnlyMembers (store, cid, signal) {
  if (!new Name(cid).isOwn) return false
  const { size, complete } = await store.stat(cid)
  if (!complete || size === 0 || size % HASH_LEN !== 0) return false
  for (let start = 0; start < size; start += LOOKUP_COUNT * HASH_LEN) {
    const hashes = await store.bytes(cid, { start, end: Math.min(start + LOOKUP_COUNT * HASH_LEN, size) }, { signal })
    const names = Array.from({ length: hashes.length / HASH_LEN }, (_, i) =>
      hashes.subarray(i * HASH_LEN, (i + 1) * HASH_LEN))
    if ((await store.statMany(names)).includes(undefined)) return false
  }
  return true
}

/**
 * Asks the caller for the names of all tags. `importCar` calls it before any block is kept, so that an error leaves
 * nothing in the store.
 *
 * @param {CID[]} roots @param {ImportRules['tagRoot']} tagRoot
 * @returns {{ cid: CID, tag: string }[]}
 */
function namedRoots (roots, tagRoot) {
  if (tagRoot === undefined) return []
  return roots.flatMap((cid, i) => {
    const tag = tagRoot(cid, i)
    if (tag === undefined) return []
    assertName('tagRoot', tag)
    return { cid, tag }
  })
}
