// Puts blobs into a bucket. A blob goes into the local store first, because its key is its hash, which is known only at
// the end. Then it is uploaded from there, and gets its tag and alias.

import { PUT_OPTIONS, assertAlias, assertNoTagProperties, tagFrom } from '../../../store/interface.js'
import { HASH_LEN } from '../../../lib/core/constants.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { assertMany, inOrder } from '../../../lib/async/in-order.js'
import { cancelSource } from '../../../lib/source/source.js'
import { parseRoot, toCid } from '../../../lib/hash/cid.js'

/** @import { Store } from '../../../store/interface.js' */
/** @import { BlobStore, NamedSource, PutManyOptions, PutOptions, PutResult } from '../../../store/index.js' */
/** @import { Many } from '../../../lib/async/in-order.js' */
/** @import { Source } from '../../../lib/core/types.js' */
/** @import { BucketAliases } from './aliases.js' */
/** @import { Calls } from './calls.js' */
/** @import { PartialBlobs } from './partial.js' */
/** @import { Placements, Series } from './placements.js' */
/** @import { BucketTags, Tag } from './tags.js' */

/** How many blobs of `putMany` are uploaded at the same time. For most of its time, a short blob waits for a look. */
const PARALLEL = 128
/** `putMany` uploads no further blob while those under way have more bytes. Each has up to five parts in memory. */
const MAX_UPLOADING = 1 << 26

/**
 * @typedef {object} BlobNames  the names that a blob gets when it is put
 * @property {(root: Uint8Array) => (now: number) => Tag} [tag]  makes the tag; `now`: milliseconds since 1970
 * @property {Uint8Array} [alias]  a multihash
 */

export class BucketWriter {
  #aliases
  #calls
  #local
  #partial
  #placements
  #tags

  /**
   * @param {object} parts
   * @param {BucketAliases} parts.aliases
   * @param {Calls} parts.calls
   * @param {BlobStore} parts.local
   * @param {PartialBlobs} parts.partial
   * @param {Placements} parts.placements
   * @param {BucketTags} parts.tags
   */
  constructor ({ aliases, calls, local, partial, placements, tags }) {
    this.#aliases = aliases
    this.#calls = calls
    this.#local = local
    this.#partial = partial
    this.#placements = placements
    this.#tags = tags
  }

  /** @type {Store['put']} */
  async put (source, options = {}) {
    let isRead = false
    const work = async (/** @type {AbortSignal} */ signal) => {
      assertKnownOptions(options, PUT_OPTIONS)
      const names = namesFrom(options)
      const { expect, alwaysRead = false } = options
      const known = expect === undefined || alwaysRead ? undefined : parseRoot(expect, 'expect')
      const result = known && await this.keepKnown(known, names, signal)
      if (result !== undefined) return result
      isRead = true
      const { tag, format, weak, meta, ttl, expires, alias, ...rest } = options
      const hold = tag instanceof Object ? tag : this.#local.tempTag()
      try {
        const { cid, size } = await this.#local.put(source, { ...rest, tag: hold, signal }).catch(throwLocal)
        return await this.#keep(parseRoot(cid), size, names, signal)
      } finally {
        if (hold !== tag) hold.release()
      }
    }
    try {
      return await this.#calls.write(work, options?.signal)
    } finally {
      if (!isRead) cancelSource(source)
    }
  }

  /** @type {Store['putMany']} */
  putMany (blobs, options = {}) {
    assertMany('blobs', blobs, 'sources')
    assertKnownOptions(options, ['tag', 'signal', 'onProgress'])
    const { onProgress, tag, signal } = options
    return this.#calls.each(signal => this.#putMany(blobs, { onProgress, tag }, signal), signal)
  }

  /**
   * @param {Many<Source | NamedSource>} blobs @param {Omit<PutManyOptions, 'signal'>} options
   * @param {AbortSignal} signal
   */
  async * #putMany (blobs, { onProgress, tag }, signal) {
    await this.#calls.write(async () => {}, signal) // If nothing can be written, no source is read.
    const names = /** @type {BlobNames[]} */ ([])
    const { quota = Infinity } = this.#local
    const series = {}
    let uploading = 0
    const aheadOf = () => 2 * uploading > quota || uploading > MAX_UPLOADING ? 0 : PARALLEL - 1
    const keep = async (/** @type {PutResult} */ { cid, size }) => {
      const hold = this.#local.tempTag(cid) // before the next blob comes, which may need its space
      uploading += size
      try {
        const own = /** @type {BlobNames} */ (names.shift())
        return await this.#calls.write(signal => this.#keep(parseRoot(cid), size, own, signal, series), signal)
      } finally {
        uploading -= size
        hold.release()
      }
    }
    const local = this.#local.putMany(withoutAliases(blobs, names), { tag, signal })
    let done = 0
    for await (const result of inOrder(local, aheadOf, keep)) {
      yield result
      done += result.size
      onProgress?.({ type: 'baobox:put', detail: { done, unit: 'bytes' } })
    }
  }

  /**
   * Makes sure that a blob in the bucket stays, and gives it names. No source is read.
   *
   * @param {Uint8Array} root @param {BlobNames} names @param {AbortSignal} signal
   * @returns {Promise<PutResult | undefined>} undefined if the bucket does not have the blob, or is deleting it
   */
  async keepKnown (root, names, signal) {
    const there = await this.#placements.find(root, signal)
    return there && this.#keep(root, there.size, names, signal).catch(error => {
      if (error.code === 'STORE_CONDEMNED') return undefined
      throw error
    })
  }

  /**
   * Makes sure that the bucket has a blob, under the names that it should get. A tag brings its own call of
   * `Placements.keep`, so another one is needed only without a tag, or for an alias.
   *
   * @param {Uint8Array} root @param {number} size @param {BlobNames} names @param {AbortSignal} signal
   * @param {Series} [series]
   * @returns {Promise<PutResult>}
   */
  async #keep (root, size, { tag, alias }, signal, series) {
    let isNew = false
    if (tag === undefined || alias !== undefined) {
      const name = alias && (() => this.#aliases.write(alias, root, signal))
      isNew = await this.#placements.keep([root], { required: root, name, series, signal })
    }
    if (tag !== undefined) {
      const tagged = await this.#tags.write(tag(root), { required: root, signal })
      isNew ||= tagged.isNew
    }
    await this.#partial.end(root)
    return { cid: toCid(root), size, isNew }
  }
}

/** @param {PutOptions} options @returns {BlobNames} @throws {TypeError} */
function namesFrom ({ tag: name, format = 'raw', weak, meta, ttl, expires, alias: cid }) {
  const alias = cid === undefined ? undefined : assertAlias(cid)
  const properties = { weak, meta, ttl, expires }
  if (typeof name !== 'string') {
    assertNoTagProperties(properties)
    return { alias }
  }
  const tag = (/** @type {Uint8Array} */ root) => tagFrom(name, root, { format, ...properties })
  tag(new Uint8Array(HASH_LEN)) // It checks the options.
  return { alias, tag }
}

/**
 * Passes on blobs, and notes the names that they should get.
 *
 * @param {Many<Source | NamedSource>} blobs @param {BlobNames[]} names  gets one entry for each blob
 * @returns {AsyncGenerator<Source | NamedSource>}
 */
async function * withoutAliases (blobs, names) {
  for await (const blob of blobs) {
    const isNamed = typeof blob === 'object' && blob !== null && 'source' in blob
    const { alias, ...rest } = /** @type {NamedSource} */ (isNamed ? blob : {})
    names.push(namesFrom({ alias }))
    yield isNamed ? rest : blob // The local store refuses what is no source.
  }
}

/** Throws an error of the local store. @param {Error & { code?: string }} error @returns {never} */
function throwLocal (error) {
  if (error.code === 'STORE_FULL') error.message = `the local store must hold the whole blob: ${error.message}`
  throw error
}
