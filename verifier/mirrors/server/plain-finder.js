// Finds the outboard and the size of a blob on a plain server. Nothing that the server says is believed: a size counts
// only if the last chunk, and the pairs above it, verify for this size.

import { BaoError, fetchRefused, leafMismatch } from '../../../lib/core/errors.js'
import { CHUNK_LEN, HASH_LEN, MAX_GROUP_LOG, PAIR_LEN } from '../../../lib/core/constants.js'
import { ByteQueue } from '../../../lib/core/byte-queue.js'
import { HEADER_LEN, areEqual } from '../../../lib/core/bytes.js'
import { meansNotHere } from '../../sources/http/answer.js'
import { HttpFile } from '../../sources/http/file.js'
import { optionsFor } from '../../sources/http/options.js'
import { groupCount, outboardLen } from '../../../lib/tree/geometry.js'
import { openOutboard } from '../../../lib/outboard/paged-outboard.js'
import { outboardLinks } from './links.js'
import { hash, keyedHash } from '../../../lib/hash/hasher.js'
import { rootHash } from '../../../lib/hash/subtree.js'
import { toCid } from '../../../lib/hash/cid.js'
import { blobInMemory, emptyOutboard, hasProvenSize } from '../plain/plain-blob.js'
import { untilAborted } from '../../../lib/source/async-util.js'

/** @import { HttpOptions } from '../../sources/http/options.js' */
/** @import { OtherBlob } from '../../../lib/core/errors.js' */
/** @import { PlainBlob } from '../plain/plain-slice.js' */
/** @import { SliceOutboard } from '../../../lib/core/types.js' */
/** @import { SliceRequest } from './url-mirror.js' */

/** How many bytes the first request asks for. Many small blobs are not longer. */
const FIRST_READ_LEN = 1 << 14
/** The maximum length of a blob that is read into memory because it has no outboard, in bytes. */
const MAX_WHOLE_LEN = 1 << 24
/** Where the first pair of an outboard may begin: some outboards begin with the size. */
const STARTS = [0, HEADER_LEN]
/** Milliseconds for a part of an outboard. Several slices may wait for the same part, so none of them can abort it. */
const OUTBOARD_MS = 30_000

/**
 * @typedef {object} FoundBlob
 * @property {PlainBlob} blob
 * @property {boolean} isSettled  true if the last chunk has verified, or if it would cost too much to read. If false,
 *   only the first pair is known to be right, and another outboard or the whole file may be better
 */
/** @typedef {{ url: URL, groupLog: number, from: URL[] }} Place  a possible outboard, and the URLs that led to it */
/**
 * @typedef {{ size: number, tail?: PlainBlob['pieces'] }} Claim  `tail`: the last group, if the size follows from it
 */

export class PlainFinder {
  #url
  #http
  #file
  /**
   * The errors of outboards that stalled until the request for the slice was ended, by URL. The next search skips these
   * URLs.
   */
  #stalled = /** @type {Map<string, unknown>} */ (new Map())
  /** The errors of the places that failed in the last search. @type {unknown[]} */
  #failures = []

  /** The blob that was wanted, and the one whose outboard is there instead. @type {OtherBlob | undefined} */
  #other

  /** @param {URL} url @param {HttpOptions} http @param {HttpFile} file  the blob */
  constructor (url, http, file) {
    this.#url = url
    this.#http = http
    this.#file = file
  }

  /**
   * Looks for the outboard where the server says that it is, then beside the blob. After an error, the search continues
   * with the next place.
   *
   * @param {SliceRequest} request @param {AbortSignal} signal
   * @param {() => void} onAnswer  called when the server has answered the request for the blob
   * @returns {Promise<FoundBlob | undefined>} undefined if none was found
   */
  async find (request, signal, onAnswer) {
    const start = await this.#file.read(0, FIRST_READ_LEN, signal)
    onAnswer()
    const small = blobInMemory(start, request)
    if (small !== undefined) return { blob: small, isSettled: true }
    this.#failures = [...this.#stalled.values()]
    this.#other = undefined
    let likely
    for (const place of this.#places().filter(({ url }) => !this.#stalled.has(url.href))) {
      const found = await this.#tryPlace(place, request, signal)
      if (found?.isSettled) return found
      likely ??= found
    }
    this.#stalled.clear()
    return likely
  }

  /**
   * Reads the whole blob into memory, and verifies it there.
   *
   * @param {SliceRequest} request @param {AbortSignal} signal
   * @returns {Promise<PlainBlob>}
   * @throws {BaoError} BAO_LEAF_MISMATCH when the bytes are wrong; when the blob is too long, the first error of a
   *   place, or FETCH_REFUSED if there was none
   */
  async readWhole (request, signal) {
    const { size = 0 } = this.#file
    const most = MAX_WHOLE_LEN + 1
    const queue = new ByteQueue()
    if (size < most) for await (const piece of this.#file.pieces(0, most, signal)) queue.push(piece, most)
    if (size >= most || queue.len === most) {
      request.onWhole?.({ size: this.#file.size, open: signal => this.#file.pieces(0, Infinity, signal) })
      const { cid, actual } = this.#other ?? {}
      const why = `it has ${actual ? `the outboard of ${actual}, not of ${cid},` : 'no outboard'} and gives no ` +
        'slices, and the blob is longer than 16 MiB. Put its outboard beside it, with .obao4 after the name, or use ' +
        'another mirror'
      throw this.#failures[0] ?? fetchRefused(this.#file.location, why, this.#other)
    }
    const blob = blobInMemory(queue.bytes, request)
    if (blob !== undefined) return blob
    const { root, key } = request
    const actual = toCid(key === undefined ? hash(queue.bytes) : keyedHash(key, queue.bytes))
    throw leafMismatch(0, queue.len, { cid: toCid(root), actual })
  }

  /** The places where outboards may be, in the order in which they are tried. @returns {Place[]} */
  #places () {
    const { header = '', base = this.#url } = this.#file.link ?? {}
    const linked = outboardLinks(header, base, this.#url).map(link => ({ ...link, from: [this.#url, base] }))
    const beside = [4, 6].map(groupLog => {
      const url = new URL(this.#url)
      url.pathname += `.obao${groupLog}`
      return { url, groupLog, from: [this.#url] }
    })
    return [...linked, ...beside]
  }

  /**
   * @param {Place} place @param {SliceRequest} request @param {AbortSignal} signal
   * @returns {Promise<FoundBlob | undefined>} undefined if the place has no outboard, or the outboard of another blob
   */
  async #tryPlace (place, request, signal) {
    try {
      return await untilAborted(this.#look(place, request, signal), signal)
    } catch (error) {
      // The mirror has stalled at this place, and the next search should skip it.
      if (signal.aborted && error instanceof BaoError) this.#stalled.set(place.url.href, error)
      signal.throwIfAborted()
      if (!meansNotHere(error)) this.#failures.push(error)
      return undefined
    }
  }

  /**
   * Opens an outboard if its first pair leads to the root.
   *
   * @param {Place} place @param {SliceRequest} request @param {AbortSignal} signal
   * @returns {Promise<FoundBlob | undefined>}
   */
  async #look ({ url, groupLog, from }, request, signal) {
    const { root, key } = request
    const claim = request.size ?? this.#file.size
    if (claim !== undefined && groupCount(claim, groupLog) === 1) {
      const blob = this.#blobWith(emptyOutboard(root, claim, groupLog))
      if (await hasProvenSize(blob, request, signal)) return { blob, isSettled: true }
    }
    const file = new HttpFile(url, optionsFor(url, from, this.#http), { isLenient: true })
    const start = await file.read(0, HEADER_LEN + PAIR_LEN, signal)
    const rootAt = (/** @type {number} */ at) => start.length < at + PAIR_LEN
      ? new Uint8Array(HASH_LEN)
      : rootHash(start.subarray(at, at + HASH_LEN), start.subarray(at + HASH_LEN, at + PAIR_LEN), { key })
    const at = STARTS.find(at => areEqual(root, 0, rootAt(at)))
    if (at === undefined) {
      const found = claim && STARTS.find(at => logOf(file.size, at, claim) !== undefined)
      if (found !== undefined) this.#other ??= { cid: toCid(root), actual: toCid(rootAt(found)) }
      return undefined
    }
    let likely
    try {
      for await (const { size, tail } of this.#sizes(request, { file, at, groupLog }, signal)) {
        // The file may have another group log than its name says. Its length tells.
        const log = logOf(file.size, at, size) ?? groupLog
        const blob = this.#blobWith(await outboardIn(file, at, { cid: root, size, groupLog: log }))
        const pieces = tail ?? blob.pieces
        // To give the end of a long blob, a server that ignores ranges would send all of it.
        const isFar = this.#file.ignoresRanges && size > MAX_WHOLE_LEN && tail === undefined
        if (isFar || await hasProvenSize({ ...blob, pieces }, request, signal)) return { blob, isSettled: true }
        likely ??= { blob, isSettled: false }
      }
    } catch (error) {
      if (likely === undefined || signal.aborted) throw error
    }
    return likely
  }

  /** @param {SliceOutboard} outboard @returns {PlainBlob} */
  #blobWith (outboard) {
    const pieces = this.#file.pieces.bind(this.#file)
    return { size: outboard.size, outboard, pieces }
  }

  /**
   * Yields sizes that the blob may have: first the size that the server states. The others follow from the length of
   * the outboard, which says where the last group begins, and from the number of bytes that the server has from there
   * on.
   *
   * @param {SliceRequest} request
   * @param {{ file: HttpFile, at: number, groupLog: number }} outboard  `at`: where its first pair begins
   * @param {AbortSignal} signal
   * @returns {AsyncGenerator<Claim>}
   */
  async * #sizes ({ size }, { file, at, groupLog }, signal) {
    const claim = size ?? this.#file.size
    if (claim !== undefined) yield { size: claim }
    if (size !== undefined) return
    const groupLen = CHUNK_LEN * 2 ** groupLog
    const tried = new Set([claim])
    for (const lenOf of [() => file.size ?? 0, () => file.measure(signal)]) {
      const last = groupLen * Math.round((await lenOf() - at) / PAIR_LEN)
      if (last < groupLen || !Number.isSafeInteger(last + groupLen)) continue
      const bytes = await this.#file.read(last, last + groupLen, signal)
      const size = last + bytes.length
      if (bytes.length === 0 || tried.has(size)) continue
      tried.add(size)
      yield { size, tail: async function * (start, end) { yield bytes.subarray(start - last, end - last) } }
    }
  }
}

/**
 * The group log of an outboard, by its length. Lengths differ between group logs if there is any pair.
 *
 * @param {number | undefined} len  bytes of the file @param {number} at  where its first pair begins
 * @param {number} size  of the blob
 * @returns {number | undefined} undefined if no outboard of such a blob has this length
 */
function logOf (len, at, size) {
  for (let log = 0; log <= MAX_GROUP_LOG && groupCount(size, log) > 1; log++) {
    if (len === at + outboardLen(size, log)) return log
  }
}

/**
 * Opens the outboard in a file. Its pairs are read when they are needed.
 *
 * @param {HttpFile} file @param {number} at  where its first pair begins
 * @param {{ cid: Uint8Array, size: number, groupLog: number }} info
 */
function outboardIn (file, at, info) {
  const pairs = {
    size: outboardLen(info.size, info.groupLog),
    overlaps: true,
    read: (/** @type {number} */ start, /** @type {number} */ end) =>
      file.read(at + start, at + end, AbortSignal.timeout(OUTBOARD_MS))
  }
  return openOutboard(pairs, info)
}
