// Writes blobs as a CAR, version 1, with a block for each name of each blob.
// Sources: https://ipld.io/specs/transport/car/carv1/; dasl.ing, "CAR".

import { CarWriter } from '@ipld/car/writer'
import { CID, varint } from 'multiformats'
import { RAW, parseRoot, toCid, unsupported } from '../../lib/hash/cid.js'
import { nameOf } from '../../lib/hash/roots.js'
import { concat, describe } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { assertMany, untilSignal } from '../../lib/async/in-order.js'
import { assertStore, missing, notFound, sizeMismatch } from '../../store/interface.js'
import { asBlockstore } from '../blockstore/blockstore.js'
import { isDasl } from '../collections/web/drisl.js'
import { MAX_HEADER_LEN } from './car-reader.js'
import { assertSelection, blobOf, chosenBlobs, chosenTags, hasOwnName, isAll, isGone } from './chosen-blobs.js'

/** @import { MultihashHasher } from 'multiformats/hashes/interface' */
/** @import { BlobName } from '../../lib/hash/cid.js' */
/** @import { ProgressOptions } from '../../lib/core/types.js' */
/** @import { TagInfo } from '../../store/index.js' */
/** @import { BaoError } from '../../lib/core/errors.js' */
/** @import { Store } from '../../store/interface.js' */
/** @import { Chosen, SelectionOptions } from './chosen-blobs.js' */

/**
 * @typedef {SelectionOptions & ProgressOptions & { hashers?: MultihashHasher[], dasl?: boolean }} ExportOptions
 *   `hashers`: hash functions of aliases, in addition to SHA2-256 and SHA2-512. `dasl`: false for an archive that DASL
 *   does not allow: with aliases of hash functions other than SHA2-256, and with roots that say which blobs are
 *   sequences. Default: true. `onProgress` gets `baobox:export` events, in bytes of the archive
 */

/**
 * Writes whole blobs as a CAR: each blob as one block, however long it is, under its BLAKE3 hash and under each of its
 * aliases. The blobs that tags name are the roots. Memory stays bounded, and each piece is verified before the caller
 * gets it.
 *
 * @param {Store} store
 * @param {ExportOptions} [options]  `cids`: only these blobs, which are roots, too; with `recursive`, the members of
 *   these sequences as well; `tags`: only blobs that these tags protect. Default: all whole blobs
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} the archive, in fresh pieces
 * @throws {BaoError} the errors of `get`, after which the archive is incomplete; CID_UNSUPPORTED { cid } for an alias
 *   whose hash function is not among `hashers`, or not one of DASL; STORE_TAG_NOT_FOUND { tag }; SIZE_MISMATCH { cid,
 *   wanted, got } if a bucket says another size of a blob than it has
 */
export function exportCar (store, options = {}) {
  assertStore(store)
  assertKnownOptions(options, ['hashers', 'dasl', 'cids', 'tags', 'recursive', 'signal', 'onProgress'])
  if (typeof (options.dasl ?? true) !== 'boolean') {
    throw new TypeError(`"dasl" expected true or false, got ${describe(options.dasl)}`)
  }
  assertMany('hashers', options.hashers ?? [], 'hash functions')
  assertSelection(options)
  return archiveOf(store, options)
}

/**
 * @param {Store} store @param {ExportOptions} options
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
 */
async function * archiveOf (store, options) {
  const { hashers, dasl = true, signal, onProgress } = options
  const nameIn = dasl ? daslName : (/** @type {CID} */ cid) => cid
  const cids = options.cids && await gathered(options.cids, signal)
  const selection = { cids, tags: options.tags, recursive: options.recursive, signal }
  const tags = await chosenTags(store, selection)
  let done = 0
  const given = (/** @type {Uint8Array<ArrayBuffer>} */ piece) => {
    done += piece.length
    return piece
  }
  yield given(await headerOf(await rootsOf(store, cids ?? [], tags, nameIn)))
  const blocks = asBlockstore(store, { hashers })
  for await (const { cid, size, isOwn } of namedBlobs(store, selection, tags)) {
    const name = nameIn(cid).bytes
    const head = concat([varintOf(name.length + size), name])
    let isBegun = false
    let len = 0
    try {
      for await (const piece of isOwn ? store.get(cid, undefined, { signal }) : blocks.get(cid, { signal })) {
        len += piece.length
        if (len > size) throw sizeMismatch(size, len, cid)
        if (!isBegun) yield given(head)
        isBegun = true
        yield given(piece)
      }
      if (len < size) throw sizeMismatch(size, len, cid)
      if (!isBegun) yield given(head) // The block is empty.
    } catch (error) {
      // Leave out a blob that was deleted before it was read, unless the caller has asked for this blob.
      if (!isGone(error) || isBegun || !isAll(selection)) throw error
    }
    onProgress?.({ type: 'baobox:export', detail: { done, unit: 'bytes' } })
  }
}

/** @param {Iterable<BlobName> | AsyncIterable<BlobName>} cids @param {AbortSignal} [signal] */
async function gathered (cids, signal) {
  const all = /** @type {BlobName[]} */ ([])
  for await (const cid of untilSignal(cids, signal)) all.push(cid)
  return all
}

/**
 * Returns the roots of the archive: the blobs in `cids`, and those of the tags, if the store has them.
 *
 * @param {Store} store @param {BlobName[]} cids @param {TagInfo[]} tags
 * @param {(cid: CID) => CID} nameIn  gives the name of a blob in the archive
 * @returns {Promise<CID[]>}
 */
async function rootsOf (store, cids, tags, nameIn) {
  const roots = /** @type {Map<string, CID>} */ (new Map())
  const add = (/** @type {CID} */ cid) => {
    const root = nameIn(cid)
    roots.set(`${root}`, root)
  }
  for (const cid of cids) add(CID.asCID(cid) ?? toCid(parseRoot(cid, 'cids')))
  for (const tag of tags) {
    const cid = await blobOf(store, tag)
    if (cid !== undefined && await store.has(cid)) add(tag.cid)
  }
  return [...roots.values()]
}

/** @param {CID[]} roots @returns {Promise<Uint8Array<ArrayBuffer>>} */
async function headerOf (roots) {
  const { writer, out } = CarWriter.create(roots)
  const closing = writer.close()
  const parts = /** @type {Uint8Array[]} */ ([])
  for await (const part of out) parts.push(part)
  await closing
  const header = concat(parts)
  if (header.length <= MAX_HEADER_LEN) return header
  throw new RangeError(`"tags" expected fewer: ${roots.length} roots are more than the header of a CAR should have`)
}

/**
 * Yields every name of every blob to export, with the size of the blob. Leaves out incomplete blobs, unless the caller
 * has asked for them.
 *
 * @param {Store} store @param {SelectionOptions} selection @param {TagInfo[]} tags
 * @returns {AsyncGenerator<{ cid: CID, size: number, isOwn: boolean }>}
 * @throws {BaoError} STORE_NOT_FOUND { cid }, STORE_MISSING { cid, ranges }, STORE_CORRUPT
 */
async function * namedBlobs (store, selection, tags) {
  const seen = /** @type {Set<string>} */ (new Set())
  const onUnreadable = (/** @type {unknown} */ error) => { throw error }
  for await (const batch of chosenBlobs(store, selection, { tags, onUnreadable })) {
    for (const blob of batch) {
      const { cid, stat, aliases } = blob
      if (!isAll(selection)) {
        const name = nameOf(cid.multihash.digest)
        if (seen.has(name)) continue
        seen.add(name)
        await assertComplete(store, blob)
      }
      if (!stat?.complete) continue
      const { size } = stat
      if (hasOwnName(blob)) yield { cid, size, isOwn: true }
      for (const alias of aliases) yield { cid: alias, size, isOwn: false }
    }
  }
}

/** @param {Store} store @param {Chosen} blob */
async function assertComplete (store, { cid, stat }) {
  const root = cid.multihash.digest
  if (stat === undefined) throw notFound(root)
  if (!stat.complete) throw missing(root, stat.size, await store.missing(cid))
}

/**
 * The name of a block in an archive of DASL, which has plain bytes under hashes of BLAKE3 and SHA2-256.
 *
 * @param {CID} cid
 * @returns {CID}
 * @throws {BaoError} CID_UNSUPPORTED
 */
function daslName (cid) {
  const name = CID.createV1(RAW, cid.multihash)
  if (isDasl(name)) return name
  throw unsupported(cid, 'a hash that DASL does not have. Export it with `dasl: false`')
}

/** @param {number} value */
const varintOf = value => varint.encodeTo(value, new Uint8Array(varint.encodingLength(value)))
