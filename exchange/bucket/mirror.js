// A bucket as a mirror. Each blob is an object, and the outboard of a blob above 16 KiB is the object beside it.

import { base16 } from 'multiformats/bases/base16'
import { BaoError, fetchRefused } from '../../lib/core/errors.js'
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
import { OutboardBlocks } from './outboard-blocks.js'
import { PART_LEN } from './parts.js'
import { keysWithId, placesOf } from './places.js'
import { PartsAhead, readInParts } from './read-parts.js'

/** @import { Bucket, ReadObject } from './bucket.js' */
/** @import { BlobPlace } from './places.js' */
/** @import { SliceRequest } from '../../verifier/mirrors/server/url-mirror.js' */
/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { SliceOutboard } from '../../lib/core/types.js' */

const GROUP_LEN = CHUNK_LEN << DEFAULT_GROUP_LOG
/** No blob has a group with a higher number, whatever the length of an outboard says. */
const MAX_GROUP = Math.floor(Number.MAX_SAFE_INTEGER / GROUP_LEN) - 1
/** The mirror remembers where at most so many blobs are. */
const MAX_BLOBS = 1000
/** It keeps at most so many bytes of outboards: those of 8 GiB of blobs. */
const MAX_BYTES = 1 << 25
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
  const partsAhead = new PartsAhead()
  const known = new KnownBlobs(bucket)
  return new Mirror(location, async function * (request, signal) {
    const hex = base16.baseEncode(request.root)
    const blob = new BucketBlob({ bucket, location, hex, known: known.of(hex), partsAhead }, request, signal)
    try {
      yield * blob.slice()
    } finally {
      known.trim()
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
  #partsAhead
  #request
  #signal
  /** The first part that the slice needs, if its answer had to say the size. @type {ReadObject | undefined} */
  #first

  /**
   * @param {{ bucket: Bucket, location: string, hex: string, known: KnownBlob, partsAhead: PartsAhead }} blob
   * @param {SliceRequest} request @param {AbortSignal} signal
   */
  constructor ({ bucket, location, hex, known, partsAhead }, request, signal) {
    this.#bucket = bucket
    this.#location = location
    this.#hex = hex
    this.#known = known
    this.#partsAhead = partsAhead
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
      if (this.#first === undefined) await this.#findSize(ranges) // throws STORE_NOT_FOUND if the blob is missing, too
      throw fetchRefused(this.#location, `it lacks the outboard ${outboardKey(this.#hex)}`)
    }
    const pieces = this.#pieces.bind(this)
    yield * piecesOfPlain({ size, outboard, pieces }, this.#request, this.#signal)
  }

  async close () { await this.#first?.body.return(undefined) }

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
      : { start, end: Math.min(end, start + PART_LEN) } // The parts after this one are read by `#pieces`.
    this.#first = await this.#read(wanted)
    return this.#first.size
  }

  /** @param {number} start @param {number} end @returns {AsyncGenerator<Uint8Array>} */
  async * #pieces (start, end) {
    let at = start
    const first = this.#first
    if (first?.range.start === start && first.range.end <= end) {
      yield * first.body
      at = first.range.end
    }
    const read = async (/** @type {{ start: number, end: number }} */ range, /** @type {AbortSignal} */ signal) =>
      (await this.#read(range, signal)).body
    yield * readInParts(read, { start: at, end }, { ahead: this.#partsAhead, signal: this.#signal })
  }

  /**
   * Reads a range where the blob was last, or at the first place that has it.
   *
   * @param {{ start: number, end: number }} range @param {AbortSignal} [signal]
   * @returns {Promise<ReadObject>}
   */
  async #read (range, signal = this.#signal) {
    /** @type {unknown[]} */
    const failures = []
    const readAt = async (/** @type {BlobPlace} */ place) => {
      const object = await this.#readAt(place, range, signal).catch(error => {
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
    for await (const place of placesOf(this.#bucket, this.#hex, { signal, onInvalid })) {
      const object = await readAt(place)
      if (object) return object
    }
    if (failures.length > 0) throw failures[0]
    const cid = toCid(this.#request.root)
    throw new BaoError('STORE_NOT_FOUND', `${this.#location} lacks ${cid}`, { cid, location: this.#location })
  }

  /**
   * @param {BlobPlace} place @param {{ start: number, end: number }} range @param {AbortSignal} signal
   * @returns {Promise<ReadObject | undefined>} undefined if there is no object
   */
  async #readAt ({ key, etag, size }, range, signal) {
    const object = await this.#bucket.get(key, range, { ifMatch: etag, signal })
    if (object === undefined || size === undefined || object.size === size) return object
    await object.body.return(undefined)
    throw bucketInvalid(this.#location, `by its reference, ${key} has ${size} bytes, and not ${object.size}`)
  }
}

/** Blobs that slices have asked for lately. */
class KnownBlobs {
  #bucket
  #blobs = /** @type {LruCache<string, KnownBlob>} */ (new LruCache(MAX_BLOBS))

  /** @param {Bucket} bucket */
  constructor (bucket) {
    this.#bucket = bucket
  }

  /** @param {string} hex  the hash of the blob @returns {KnownBlob} */
  of (hex) {
    const kept = this.#blobs.get(hex)
    if (kept !== undefined && performance.now() - kept.since < KEPT_MS) return kept
    const fresh = { outboard: new BucketOutboard(this.#bucket, hex), place: undefined, since: performance.now() }
    this.#blobs.set(hex, fresh)
    return fresh
  }

  /** Forgets the blobs that were used least recently, until the outboards of the others fit into MAX_BYTES. */
  trim () {
    let bytes = 0
    for (const hex of this.#blobs.keys()) bytes += this.#blobs.peek(hex)?.outboard.bytes ?? 0
    for (const hex of this.#blobs.keys()) {
      if (bytes <= MAX_BYTES) return
      bytes -= this.#blobs.peek(hex)?.outboard.bytes ?? 0
      this.#blobs.delete(hex)
    }
  }
}

/** The outboard of one blob, read when it is needed and kept for a while. */
class BucketOutboard {
  #bucket
  #hex
  #blocks

  /** @param {Bucket} bucket @param {string} hex  the hash of the blob */
  constructor (bucket, hex) {
    this.#bucket = bucket
    this.#hex = hex
    this.#blocks = new OutboardBlocks(bucket, outboardKey(hex))
  }

  /** How many bytes are kept. */
  get bytes () { return this.#blocks.bytes }

  /** The number of the last group, by the length of the outboard; 0 if there is none. @param {AbortSignal} signal */
  async lastGroup (signal) { return Math.min(Math.floor((await this.#len(signal) ?? 0) / PAIR_LEN), MAX_GROUP) }

  /**
   * @param {Uint8Array} root @param {number} size @param {AbortSignal} signal
   * @returns {Promise<SliceOutboard | undefined>} undefined if there is none
   */
  async open (root, size, signal) {
    const len = await this.#len(signal)
    if (len === undefined) return undefined
    const read = async (/** @type {number} */ start, /** @type {number} */ end) =>
      await this.#read(blocks => blocks.read(start, end, signal), signal) ?? new Uint8Array(0)
    return openOutboard({ size: len, read, overlaps: true }, { cid: root, size, groupLog: DEFAULT_GROUP_LOG })
  }

  /** The length of the object: a claim. @param {AbortSignal} signal */
  #len (signal) { return this.#read(blocks => blocks.len(signal), signal) }

  /**
   * Reads the outboard. If there is none where it was read last, another one is read. All of them have the same bytes.
   *
   * @template T @param {(blocks: OutboardBlocks) => Promise<T | undefined>} read @param {AbortSignal} signal
   */
  async #read (read, signal) {
    const absent = this.#blocks
    const found = await read(absent)
    if (found !== undefined) return found
    for await (const key of keysWithId(this.#bucket, blobKey(this.#hex), 'outboard', signal)) {
      if (key === absent.key) continue
      if (key !== this.#blocks.key) this.#blocks = new OutboardBlocks(this.#bucket, key)
      return read(this.#blocks)
    }
    return undefined
  }
}
