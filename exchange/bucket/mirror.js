// A bucket as a mirror. Each blob is an object, and the outboard of a blob above 16 KiB is the object beside it.

import { base16 } from 'multiformats/bases/base16'
import { BaoError, fetchRefused } from '../../lib/core/errors.js'
import { concat } from '../../lib/core/bytes.js'
import { CHUNK_LEN, DEFAULT_GROUP_LOG, PAIR_LEN } from '../../lib/core/constants.js'
import { LruCache } from '../../lib/core/lru.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { toCid } from '../../lib/hash/cid.js'
import { openOutboard } from '../../lib/outboard/paged-outboard.js'
import { groupCount } from '../../lib/tree/geometry.js'
import { Mirror } from '../../verifier/mirrors/mirror.js'
import { emptyOutboard, piecesOfPlain } from '../../verifier/mirrors/plain/plain-blob.js'
import { assertBucket } from './bucket.js'
import { bucketInvalid } from './errors.js'
import { blobKey, outboardKey } from './layout.js'
import { keysWithId, placesOf } from './places.js'
import { readAll } from './read-all.js'

/** @import { Bucket, ReadObject } from './bucket.js' */
/** @import { BlobPlace } from './places.js' */
/** @import { SliceRequest } from '../../verifier/mirrors/server/url-mirror.js' */
/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { SliceOutboard } from '../../lib/core/types.js' */

const GROUP_LEN = CHUNK_LEN << DEFAULT_GROUP_LOG
/** Outboards up to this length, those of blobs of up to 1 GiB, are read with one request. */
const MAX_WHOLE_LEN = 1 << 22
/** What is read at a time of a longer outboard: the pairs of 64 MiB. */
const BLOCK_LEN = 1 << 18
/** How many blocks of an outboard are kept, and of how many blobs the outboard is kept. */
const MAX_BLOCKS = 16
const MAX_BLOBS = 8
/**
 * For how many milliseconds is kept where a blob is, and its outboard. Then both are read again, in case something was
 * damaged and replaced.
 */
const KEPT_MS = 30_000
/** Errors of one place: another one may have the blob. */
const OF_PLACE = ['FETCH_CHANGED', 'BUCKET_INVALID']

/**
 * Makes a mirror of a bucket, for `download`, `fetchVerified`, `fromMirrors` and all other calls that take mirrors. The
 * blobs are objects called `blobs/{first two digits}/{64 hexadecimal digits}`. The outboard of a blob above 16 KiB, in
 * pre-order without a header, is the object with `.obao4` at the end of its name. Ranges are read in whole groups.
 * If there is no such object, the one that `adopt` has found is read, provided that it has not changed since.
 *
 *     const mirror = bucketMirror(s3({ bucket: 'videos', region: 'eu-central-1' }))
 *     await download(store, cid, { from: [mirror] })
 *
 * @param {Bucket} bucket
 * @param {{ location?: string }} [options]  `location`: another name for errors and progress
 * @returns {Mirror}
 */
export function bucketMirror (bucket, options = {}) {
  assertBucket(bucket)
  assertKnownOptions(options, ['location'])
  const { location = bucket.location } = options
  const known = /** @type {LruCache<string, KnownBlob>} */ (new LruCache(MAX_BLOBS))
  const knownFor = (/** @type {string} */ hex) => {
    const kept = known.get(hex)
    if (kept !== undefined && performance.now() - kept.since < KEPT_MS) return kept
    const fresh = { outboard: new BucketOutboard(bucket, hex), place: undefined, since: performance.now() }
    known.set(hex, fresh)
    return fresh
  }
  return new Mirror(location, async function * (request, signal) {
    const hex = base16.baseEncode(request.root)
    const blob = new BucketBlob({ bucket, location, hex, known: knownFor(hex) }, request, signal)
    try {
      yield * blob.slice()
    } finally {
      await blob.close()
    }
  })
}

/**
 * @typedef {object} KnownBlob  what slices have learnt about a blob
 * @property {BucketOutboard} outboard
 * @property {BlobPlace | undefined} place  where the bytes were read last
 * @property {number} since
 */

/** One blob, for one slice. */
class BucketBlob {
  #bucket
  #location
  #hex
  #known
  #request
  #signal
  /** The part of the blob from which its size was learnt, until it is read. @type {ReadObject | undefined} */
  #ahead

  /**
   * @param {{ bucket: Bucket, location: string, hex: string, known: KnownBlob }} blob
   * @param {SliceRequest} request @param {AbortSignal} signal
   */
  constructor ({ bucket, location, hex, known }, request, signal) {
    this.#bucket = bucket
    this.#location = location
    this.#hex = hex
    this.#known = known
    this.#request = request
    this.#signal = signal
  }

  /** @returns {AsyncGenerator<Uint8Array>} */
  async * slice () {
    const { root, ranges } = this.#request
    const size = this.#request.size ?? await this.#findSize(ranges)
    const outboard = groupCount(size, DEFAULT_GROUP_LOG) === 1
      ? emptyOutboard(root, size, DEFAULT_GROUP_LOG)
      : await this.#known.outboard.open(root, size, this.#signal)
    if (outboard === undefined) {
      if (this.#ahead === undefined) await this.#findSize(ranges) // throws STORE_NOT_FOUND if the blob is missing, too
      throw fetchRefused(this.#location, `it lacks the outboard ${outboardKey(this.#hex)}`)
    }
    const pieces = this.#pieces.bind(this)
    yield * piecesOfPlain({ size, outboard, pieces }, this.#request, this.#signal)
  }

  async close () { await this.#ahead?.body.return(undefined) }

  /**
   * Finds the size of the blob by reading the first part that the slice needs, which is kept.
   *
   * @param {ChunkRanges} ranges @returns {Promise<number>} a claim
   */
  async #findSize (ranges) {
    const [first = 0, after = Infinity] = ranges.roundToGroups(DEFAULT_GROUP_LOG).boundaries
    const end = after * CHUNK_LEN
    const start = first * CHUNK_LEN
    // The ranges may begin beyond the end. Then the slice needs the last chunk, and the length of the outboard says
    // where its group is.
    const isLast = start >= Number.MAX_SAFE_INTEGER
    const lastGroup = isLast ? await this.#known.outboard.lastGroup(this.#signal) : 0
    const wanted = isLast
      ? { start: lastGroup * GROUP_LEN, end: (lastGroup + 1) * GROUP_LEN }
      : { start, end: end > Number.MAX_SAFE_INTEGER ? Infinity : end }
    this.#ahead = await this.#read(wanted)
    return this.#ahead.size
  }

  /** @param {number} start @param {number} end @returns {AsyncGenerator<Uint8Array>} */
  async * #pieces (start, end) {
    let at = start
    const ahead = this.#ahead
    if (ahead?.range.start === start && ahead.range.end <= end) {
      yield * ahead.body
      at = ahead.range.end
    }
    if (at < end) yield * (await this.#read({ start: at, end })).body
  }

  /**
   * Reads a range where the blob was last, or at the first place that has it.
   *
   * @param {{ start: number, end: number }} range @returns {Promise<ReadObject>}
   */
  async #read (range) {
    /** @type {unknown[]} */
    const failures = []
    const readAt = async (/** @type {BlobPlace} */ place) => {
      const object = await this.#readAt(place, range).catch(error => {
        if (!(error instanceof BaoError) || !OF_PLACE.includes(error.code)) throw error
        failures.push(error)
        return undefined
      })
      this.#known.place = object && place
      return object
    }
    const last = this.#known.place
    const object = last && await readAt(last)
    if (object) return object
    failures.length = 0
    const onInvalid = (/** @type {BaoError} */ error) => failures.push(error)
    for await (const place of placesOf(this.#bucket, this.#hex, { signal: this.#signal, onInvalid })) {
      const object = await readAt(place)
      if (object) return object
    }
    if (failures.length > 0) throw failures[0]
    const cid = toCid(this.#request.root)
    throw new BaoError('STORE_NOT_FOUND', `${this.#location} lacks ${cid}`, { cid, location: this.#location })
  }

  /**
   * @param {BlobPlace} place @param {{ start: number, end: number }} range
   * @returns {Promise<ReadObject | undefined>} undefined if there is no object
   */
  async #readAt ({ key, etag, size }, range) {
    const object = await this.#bucket.get(key, range, { ifMatch: etag, signal: this.#signal })
    if (object === undefined || size === undefined || object.size === size) return object
    await object.body.return(undefined)
    throw bucketInvalid(this.#location, `by its reference, ${key} has ${size} bytes, and not ${object.size}`)
  }
}

/** The outboard of one blob, read when it is needed and kept for a while. */
class BucketOutboard {
  #bucket
  #hex
  #key
  #blocks = /** @type {LruCache<number, Uint8Array>} */ (new LruCache(MAX_BLOCKS))
  /** The length of the object: a claim. @type {number | undefined} */
  #len

  /** @param {Bucket} bucket @param {string} hex  the hash of the blob */
  constructor (bucket, hex) {
    this.#bucket = bucket
    this.#hex = hex
    this.#key = outboardKey(hex)
  }

  /** The number of the last group, by the length of the outboard; 0 if there is none. @param {AbortSignal} signal */
  async lastGroup (signal) {
    if (this.#len === undefined) await this.#block(0, signal)
    return Math.floor((this.#len ?? 0) / PAIR_LEN)
  }

  /**
   * @param {Uint8Array} root @param {number} size @param {AbortSignal} signal
   * @returns {Promise<SliceOutboard | undefined>} undefined if there is none
   */
  async open (root, size, signal) {
    if (this.#len === undefined) await this.#block(0, signal)
    if (this.#len === undefined) return undefined
    const read = async (/** @type {number} */ start, /** @type {number} */ end) => {
      const blockLen = this.#blockLen
      const first = Math.floor(start / blockLen)
      const parts = []
      for (let index = first; index * blockLen < end; index++) {
        const block = await this.#block(index, signal)
        parts.push(block.subarray(Math.max(start - index * blockLen, 0), end - index * blockLen))
      }
      return parts.length === 1 ? parts[0] : concat(parts)
    }
    return openOutboard({ size: this.#len, read, overlaps: true }, { cid: root, size, groupLog: DEFAULT_GROUP_LOG })
  }

  /** The first block is the whole outboard, if it is short. */
  get #blockLen () { return (this.#len ?? 0) <= MAX_WHOLE_LEN ? MAX_WHOLE_LEN : BLOCK_LEN }

  /**
   * @param {number} index @param {AbortSignal} signal
   * @returns {Promise<Uint8Array>} fewer bytes at the end; empty if there is no outboard
   */
  async #block (index, signal) {
    const kept = this.#blocks.get(index)
    if (kept !== undefined) return kept
    const blockLen = this.#len === undefined ? MAX_WHOLE_LEN : this.#blockLen
    const start = index * blockLen
    const object = await this.#bucket.get(this.#key, { start, end: start + blockLen }, { signal })
    if (object === undefined) return await this.#findKey(signal) ? this.#block(index, signal) : new Uint8Array(0)
    if (this.#len === undefined && object.size > MAX_WHOLE_LEN) {
      // Only a part of what was asked for is needed.
      this.#len = object.size
      await object.body.return(undefined)
      return this.#block(index, signal)
    }
    this.#len = object.size
    const block = await readAll(object, blockLen)
    this.#blocks.set(index, block)
    return block
  }

  /** Looks for an outboard with an id. All of them have the same bytes. @param {AbortSignal} signal */
  async #findKey (signal) {
    const isPlain = this.#key === outboardKey(this.#hex)
    if (!isPlain) return false
    for await (const key of keysWithId(this.#bucket, blobKey(this.#hex), 'outboard', signal)) {
      if (key === outboardKey(this.#hex)) continue
      this.#key = key
      return true
    }
    return false
  }
}
