// Writes blobs as a CAR, version 1, with a block for each name of each blob. https://ipld.io/specs/transport/car/carv1/

import { CarWriter } from '@ipld/car/writer'
import { CID, varint } from 'multiformats'
import { HASHSEQ, RAW, parseRoot, toCid } from '../../lib/hash/cid.js'
import { BaoError } from '../../lib/core/errors.js'
import { concat } from '../../lib/core/bytes.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { cidOfAlias } from '../../store/catalog/names/alias-index.js'
import { nameOf } from '../../lib/hash/roots.js'
import { untilSignal } from '../../lib/async/in-order.js'
import { missing, notFound } from '../../store/storage/errors.js'
import { asBlockstore } from '../blockstore/blockstore.js'
import { contextOf } from '../../store/context-of.js'
import { MAX_HEADER_LEN } from './car-reader.js'
import { assertExportOptions, chosenBlobs, chosenTags } from './selection.js'

/** @import { MultihashHasher } from 'multiformats/hashes/interface' */
/** @import { BlobName, BlobStore } from '../../store/blob-store.js' */
/** @import { StoreContext } from '../../store/store-context.js' */
/** @import { BlobRecord } from '../../store/storage/format/records.js' */
/** @import { Tag } from '../../store/storage/format/tags.js' */
/** @import { ProgressOptions } from '../../lib/core/types.js' */
/** @import { SelectionOptions } from './selection.js' */

/**
 * @typedef {SelectionOptions & ProgressOptions & ExportFormat} ExportOptions  `onProgress` gets `baobox:export`, in
 *   bytes of the archive
 */

/**
 * @typedef {object} ExportFormat
 * @property {'car'} [format]  CAR, version 1. Default: `car`
 * @property {MultihashHasher[]} [hashers]  hash functions of aliases, in addition to SHA2-256 and SHA2-512
 */

/**
 * Writes whole blobs as a CAR: a block for each, however long it is, under its BLAKE3 hash and its aliases. The blobs
 * that tags name are the roots. Memory stays bounded, and each piece is verified before the caller gets it.
 *
 * @param {BlobStore} store
 * @param {ExportOptions} [options]  `cids`: only these blobs, which are roots, too; with `recursive` also the members
 *   of these sequences; `tags`: only what these tags protect. Default: all whole blobs
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} the archive, in pieces that are the caller's own
 * @throws {BaoError} as `get`: the archive is not complete then; CID_UNSUPPORTED { cid } for an alias whose hash
 *   function is not among `hashers`; STORE_TAG_NOT_FOUND { tag }
 */
export function exportCar (store, options = {}) {
  const context = contextOf(store)
  assertExportOptions(options)
  return context.life.each(() => archiveOf(store, context, options))
}

/**
 * @param {BlobStore} store @param {StoreContext} context @param {ExportOptions} options
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
 */
async function * archiveOf (store, context, options) {
  const { hashers, signal, onProgress } = options
  const cids = options.cids && await gathered(options.cids, signal)
  const selection = { cids, tags: options.tags, recursive: options.recursive, signal }
  const tags = await chosenTags(context, selection)
  let done = 0
  const given = (/** @type {Uint8Array<ArrayBuffer>} */ piece) => {
    done += piece.length
    return piece
  }
  yield given(await headerOf(await rootsOf(context, cids ?? [], tags)))
  const blocks = asBlockstore(store, { hashers })
  for await (const { cid, size, isOwn } of namedBlobs(context, selection, tags)) {
    const head = concat([varintOf(cid.bytes.length + size), cid.bytes])
    let isBegun = false
    try {
      for await (const piece of isOwn ? store.get(cid, { signal }) : blocks.get(cid, { signal })) {
        if (!isBegun) yield given(head)
        isBegun = true
        yield given(piece)
      }
      if (!isBegun) yield given(head) // The block is empty.
    } catch (error) {
      // Leave out a blob that was deleted before its turn, unless the caller has asked for it.
      const isGone = error instanceof BaoError && error.code === 'STORE_NOT_FOUND'
      if (!isGone || isBegun || !isAll(selection)) throw error
    }
    onProgress?.({ type: 'baobox:export', detail: { done } })
  }
}

/** @param {SelectionOptions} selection */
const isAll = ({ cids, tags }) => cids === undefined && tags === undefined

/** @param {Iterable<BlobName> | AsyncIterable<BlobName>} cids @param {AbortSignal} [signal] */
async function gathered (cids, signal) {
  const all = /** @type {BlobName[]} */ ([])
  for await (const cid of untilSignal(cids, signal)) all.push(cid)
  return all
}

/**
 * Returns the roots of the archive: the blobs that the caller asked for, and the blobs of the tags, if they are there.
 *
 * @param {StoreContext} context @param {BlobName[]} cids @param {Tag[]} tags
 * @returns {Promise<CID[]>}
 */
async function rootsOf ({ catalog, tags: index }, cids, tags) {
  const roots = /** @type {Map<string, CID>} */ (new Map())
  const add = (/** @type {CID} */ cid) => roots.set(cid.toString(), cid)
  for (const cid of cids) add(CID.asCID(cid) ?? toCid(parseRoot(cid, 'cids')))
  for (const tag of tags) {
    const root = await index.blobOf(tag)
    if (root === undefined || !(await catalog.find(root)).record?.complete) continue
    add(tag.alias === undefined ? toCid(root, tag.format === 'hashseq' ? HASHSEQ : RAW) : cidOfAlias(tag.alias))
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
 * Gives every name of every blob to export, with the length of the blob. Leaves out incomplete blobs, unless the caller
 * has asked for them.
 *
 * @param {StoreContext} context @param {SelectionOptions} selection @param {Tag[]} tags
 * @returns {AsyncGenerator<{ cid: CID, size: number, isOwn: boolean }>}
 * @throws {BaoError} STORE_NOT_FOUND { cid }, STORE_MISSING { cid, ranges }, STORE_CORRUPT
 */
async function * namedBlobs (context, selection, tags) {
  const isWhole = isAll(selection)
  const seen = /** @type {Set<string>} */ (new Set())
  const fail = (/** @type {unknown} */ error) => { throw error }
  for await (const batch of chosenBlobs(context, selection, tags, fail)) {
    for (const { root, record } of batch) {
      if (!isWhole) {
        if (seen.has(nameOf(root))) continue
        seen.add(nameOf(root))
        await assertComplete(context, root, record)
      }
      if (record?.complete) yield * namesOf(context, root, record)
    }
  }
}

/** @param {StoreContext} context @param {Uint8Array} root @param {BlobRecord} [record] */
async function assertComplete ({ presence }, root, record) {
  if (record === undefined) throw notFound(root)
  if (!record.complete) throw missing(root, record.size, await presence.missing(record, ChunkRanges.all))
}

/**
 * @param {StoreContext} context @param {Uint8Array} root @param {BlobRecord} record
 * @returns {AsyncGenerator<{ cid: CID, size: number, isOwn: boolean }>}
 */
async function * namesOf ({ aliases: index }, root, { size, isNameless }) {
  const aliases = (await index.of(root)).filter(({ isForgotten }) => !isForgotten)
  if (!isNameless || aliases.length === 0) yield { cid: toCid(root), size, isOwn: true }
  for (const { multihash } of aliases) yield { cid: cidOfAlias(multihash), size, isOwn: false }
}

/** @param {number} value */
const varintOf = value => varint.encodeTo(value, new Uint8Array(varint.encodingLength(value)))
