// Keeps what is known about a mirror that may have one blob: which chunks of the blob the mirror says it lacks, and how
// often requests for the blob have failed.

import { BaoError, fetchExhausted } from '../../lib/core/errors.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { meansNotHere } from '../sources/http/answer.js'

/** @import { MirrorBook } from './mirror-book.js' */
/** @import { MirrorRecord, MirrorReport } from './mirror-record.js' */

/**
 * How many requests in a row may end because the mirror lacks a part of what was asked for. A mirror that names a few
 * more chunks each time could otherwise keep a download busy for ever.
 */
const MAX_LACKS = 8

export class Candidate {
  #failures = 0
  /** How many requests in a row have ended in this way. */
  #lacksInRow = 0
  /**
   * True if the blob is no longer requested from the mirror, because the mirror lacks it, or has failed too often.
   */
  #isOver = false
  /** The chunks that the mirror says it lacks. */
  lacks = ChunkRanges.none
  /** The last error of a request for this blob. @type {(Error & Partial<BaoError>) | undefined} */
  error

  /** @param {MirrorRecord} record */
  constructor (record) {
    this.record = record
  }

  get mirror () { return this.record.mirror }

  get rate () { return this.record.rate }

  get retryAt () { return this.record.retryAt }

  /** True if the mirror says that it lacks the last chunk, which proves the size. */
  get lacksLast () { return !this.lacks.intersect(ChunkRanges.last).isEmpty }

  /** True if the blob may be requested from the mirror, now or later. */
  get isUsable () { return !this.#isOver && this.record.isUsable }

  /** Notes that the mirror has sent verified bytes. @param {number} len @param {number} ms  how long they took */
  gained (len, ms) {
    this.#failures = this.#lacksInRow = 0
    this.#isOver = false
    this.record.gained(len, ms)
  }

  /** Notes that some bytes from the mirror were verified, so that earlier failures no longer count. */
  progressed () {
    this.#failures = this.#lacksInRow = 0
    this.record.progressed()
  }

  /**
   * Notes that a request for the blob has failed. If the mirror only lacks the blob, or some of its chunks, the failed
   * request does not count as a failure of the mirror.
   *
   * @param {unknown} thrown
   * @param {ChunkRanges} ranges  the ranges of the request
   * @param {{ retries: number, now: number, since?: number }} options  the options of `MirrorRecord.failed`
   */
  failed (thrown, ranges, options) {
    const error = named(thrown, this.mirror.location)
    this.error = error
    this.record.error = error
    const lacks = lackOf(error, ranges)
    if (lacks !== undefined && !lacks.isEmpty) {
      this.lacks = this.lacks.union(lacks)
      if (!ranges.difference(lacks).isEmpty) this.#isOver = ++this.#lacksInRow > MAX_LACKS
      return
    }
    if (meansNotHere(error)) {
      this.#isOver = true
      return
    }
    this.#isOver = ++this.#failures > options.retries
    this.record.failed(error, options)
  }

  /** The report on the mirror, for a caller that uses the mirror only for this blob. @returns {MirrorReport} */
  get report () {
    const { report } = this.record
    return this.#isOver && this.record.isUsable ? { ...report, state: 'failed' } : report
  }
}

/** All mirrors of a book as candidates for one blob. */
export class Candidates {
  #book
  #all = /** @type {Map<MirrorRecord, Candidate>} */ (new Map())

  /** @param {MirrorBook} book */
  constructor (book) {
    this.#book = book
  }

  /** @param {MirrorRecord} record */
  of (record) {
    const candidate = this.#all.get(record) ?? new Candidate(record)
    this.#all.set(record, candidate)
    return candidate
  }

  get all () { return this.#book.records.map(record => this.of(record)) }

  /**
   * For each mirror, the last error of a request for this blob. If no such request has failed, but the mirror is no
   * longer used for any blob, the last error of a request for another blob.
   */
  get errors () {
    return this.all.flatMap(({ error, record }) => error ?? (record.isUsable ? [] : record.error ?? []))
  }

  makeExhaustedError () { return fetchExhausted(this.errors) }
}

/**
 * Turns a thrown value into an Error. If it is a BaoError without a location, adds the location of the mirror to it.
 *
 * @param {unknown} thrown @param {string} location
 * @returns {Error & Partial<BaoError>}
 */
function named (thrown, location) {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown })
  if (error instanceof BaoError) error.location ??= location
  return error
}

/**
 * Returns which of the requested chunks a mirror lacks, as its error says. Returns undefined if the error does not name
 * any chunks. Other chunks do not count, because a mirror could name more of them each time.
 *
 * @param {Error & Partial<BaoError>} error @param {ChunkRanges} ranges
 */
function lackOf ({ code, ranges: lacks }, ranges) {
  if (code === 'STORE_NOT_FOUND') return ranges
  if (lacks === undefined || (code !== 'STORE_MISSING' && code !== 'FETCH_STATUS')) return undefined
  // The error names the last chunk by its index. While the size is unknown, requests name it `ChunkRanges.last`, so the
  // result has both names.
  return ranges.equals(ChunkRanges.last) ? lacks.union(ranges) : lacks.intersect(ranges)
}
