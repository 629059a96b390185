// Lists the blobs of a bucket, with those that are here in part.

import { base16 } from 'multiformats/bases/base16'
import { toCid } from '../../../lib/hash/cid.js'
import { parseBlobKey } from '../layout.js'
import { readReference, unlessInvalid } from '../reference.js'

/** @import { CheckedListOptions } from '../../../store/interface.js' */
/** @import { BlobStat, ListedBlob } from '../../../store/index.js' */
/** @import { Bucket, ListedObject } from '../bucket.js' */
/** @import { BlobKey } from '../layout.js' */
/** @import { PartialBlobs } from './partial.js' */

export class BucketLister {
  #bucket
  #partial

  /** @param {{ bucket: Bucket, partial: PartialBlobs }} parts */
  constructor ({ bucket, partial }) {
    this.#bucket = bucket
    this.#partial = partial
  }

  /**
   * Lists blobs in the order of their hashes; in another order, it first gathers all of them in memory.
   *
   * @param {Partial<CheckedListOptions>} options @param {AbortSignal} signal
   * @returns {AsyncGenerator<ListedBlob>}
   */
  async * list ({ prefix = '', after: root, limit = Infinity, reverse = false, order = 'hash' }, signal) {
    let left = limit
    const after = root && base16.baseEncode(root)
    const isByTime = order !== 'hash'
    const blobs = reverse || isByTime
      ? await this.#sorted({ prefix, after, reverse, isByTime }, signal)
      : this.#byHash(prefix, after, signal)
    if (left === 0) return
    for await (const blob of blobs) {
      yield blob
      if (--left === 0) return
    }
  }

  /**
   * @param {{ prefix: string, after?: string, reverse: boolean, isByTime: boolean }} options
   * @param {AbortSignal} signal
   */
  async #sorted ({ prefix, after, reverse, isByTime }, signal) {
    const all = []
    for await (const blob of this.#byHash(prefix, undefined, signal)) all.push(blob)
    if (isByTime) all.sort((a, b) => a.created.getTime() - b.created.getTime())
    if (reverse) all.reverse()
    const last = after === undefined ? -1 : all.findIndex(blob => hexOf(blob) === after)
    if (last >= 0 || after === undefined) return all.slice(last + 1)
    return all.filter(blob => reverse ? hexOf(blob) < after : hexOf(blob) > after)
  }

  /** @param {string} prefix @param {string | undefined} after @param {AbortSignal} signal */
  async * #byHash (prefix, after, signal) {
    const partial = /** @type {BlobStat[]} */ ([])
    for await (const stat of this.#partial.list()) {
      if (hexOf(stat).startsWith(prefix) && (after === undefined || hexOf(stat) > after)) partial.push(stat)
    }
    partial.sort((a, b) => hexOf(a) < hexOf(b) ? -1 : 1)
    const parts = async function * () { for (const stat of partial) yield { ...stat, lastUsed: stat.created } }
    const objects = merged(this.#objects(prefix, after, signal), this.#references(prefix, after, signal))
    yield * merged(objects, parts())
  }

  /**
   * @param {string} prefix @param {string | undefined} after @param {AbortSignal} signal
   * @returns {AsyncGenerator<ListedBlob>}
   */
  async * #objects (prefix, after, signal) {
    for await (const { parts, object } of this.#keys('blobs', prefix, after, signal)) {
      if (parts.kind === 'bytes') yield listed(parts.hex, object.size, object.modified)
    }
  }

  /**
   * @param {string} prefix @param {string | undefined} after @param {AbortSignal} signal
   * @returns {AsyncGenerator<ListedBlob>}
   */
  async * #references (prefix, after, signal) {
    for await (const { parts, object } of this.#keys('refs', prefix, after, signal)) {
      const reference = await unlessInvalid(readReference(this.#bucket, object.key, signal))
      if (reference) yield { ...listed(parts.hex, reference.size, object.modified), isReference: true }
    }
  }

  /**
   * @param {'blobs' | 'refs'} folder @param {string} prefix @param {string | undefined} after
   * @param {AbortSignal} signal
   * @returns {AsyncGenerator<{ parts: BlobKey, object: ListedObject }>}
   */
  async * #keys (folder, prefix, after, signal) {
    const start = prefix.length < 2 ? `${folder}/${prefix}` : `${folder}/${prefix.slice(0, 2)}/${prefix}`
    // `~` is after all characters that may follow a hash in a key.
    const from = after === undefined ? '' : `${folder}/${after.slice(0, 2)}/${after}~`
    for await (const object of this.#bucket.list(start, from, { signal })) {
      const parts = parseBlobKey(object.key)
      if (parts !== undefined) yield { parts, object }
    }
  }
}

/** @param {{ cid: BlobStat['cid'] }} blob */
const hexOf = ({ cid }) => base16.baseEncode(cid.multihash.digest)

/**
 * @param {string} hex @param {number} size  a claim @param {Date} [modified]
 * @returns {ListedBlob}
 */
function listed (hex, size, modified = new Date(0)) {
  const cid = toCid(base16.baseDecode(hex))
  const state = { sizeProven: false, complete: true, isReference: false, isAliasOnly: false, isDamaged: false }
  return { cid, size, ...state, created: modified, lastUsed: modified }
}

/**
 * Merges two lists of blobs, each in the order of the hashes. Of several entries of a blob, it yields the first.
 *
 * @param {AsyncGenerator<ListedBlob>} first @param {AsyncGenerator<ListedBlob>} second
 * @returns {AsyncGenerator<ListedBlob>}
 */
async function * merged (first, second) {
  let last = ''
  try {
    let [a, b] = [await first.next(), await second.next()]
    while (!a.done || !b.done) {
      const isFirst = b.done || (!a.done && hexOf(a.value) <= hexOf(b.value))
      const { value } = isFirst ? a : b
      if (hexOf(value) !== last) yield value
      last = hexOf(value)
      if (isFirst) a = await first.next()
      else b = await second.next()
    }
  } finally {
    await Promise.all([first.return(undefined), second.return(undefined)])
  }
}
