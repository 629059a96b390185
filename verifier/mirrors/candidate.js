// A mirror as a candidate for one blob: what it has of the blob, as far as its answers tell.

import { BaoError, fetchExhausted } from '../../lib/core/errors.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { meansNotHere } from '../sources/http/answer.js'

/** @import { MirrorBook } from './mirror-book.js' */
/** @import { MirrorRecord, MirrorReport } from './mirror-record.js' */

export class Candidate {
  #failures = 0
  /** True when it has failed too often with this blob, or for good. */
  #isOver = false
  /** Chunks that it says it does not have. */
  lacks = ChunkRanges.none
  /** The last one with this blob. @type {(Error & Partial<BaoError>) | undefined} */
  error

  /** @param {MirrorRecord} record */
  constructor (record) {
    this.record = record
  }

  get mirror () { return this.record.mirror }

  get rate () { return this.record.rate }

  get retryAt () { return this.record.retryAt }

  /** True if it says that it lacks the last chunk, which proves the size. */
  get lacksLast () { return !this.lacks.intersect(ChunkRanges.last).isEmpty }

  /** True if the mirror may be asked for the blob, now or later. */
  get isUsable () { return !this.#isOver && this.record.isUsable }

  /** It has brought verified bytes. @param {number} len @param {number} ms  that this took */
  gained (len, ms) {
    this.#failures = 0
    this.#isOver = false
    this.record.gained(len, ms)
  }

  /** Something of what it has sent is right. */
  progressed () {
    this.#failures = 0
    this.record.progressed()
  }

  /**
   * A request for the blob has failed. That the mirror has no such blob says nothing against the mirror.
   *
   * @param {unknown} thrown
   * @param {ChunkRanges} ranges  that it was asked for
   * @param {{ retries: number, now: number, since?: number }} options  as for `MirrorRecord.failed`
   */
  failed (thrown, ranges, options) {
    const error = named(thrown, this.mirror.location)
    this.error = error
    this.record.error = error
    const lacks = lackOf(error, ranges)
    if (lacks !== undefined) this.lacks = this.lacks.union(lacks)
    if (lacks !== undefined && !lacks.intersect(ranges).isEmpty) return
    if (meansNotHere(error)) {
      this.#isOver = true
      return
    }
    this.#isOver = ++this.#failures > options.retries
    this.record.failed(error, options)
  }

  /** Of a mirror that is asked for this blob alone. @returns {MirrorReport} */
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

  /** What mirrors have failed with, with this blob or before. */
  get errors () {
    return this.all.flatMap(({ error, record }) => error ?? (record.isUsable ? [] : record.error ?? []))
  }

  makeExhaustedError () { return fetchExhausted(this.errors) }
}

/**
 * The error, which says whose it is.
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
 * What a mirror lacks, if that is what its error says.
 *
 * @param {Error & Partial<BaoError>} error @param {ChunkRanges} ranges
 */
function lackOf ({ code, ranges: lacks }, ranges) {
  if (code === 'STORE_NOT_FOUND') return ranges
  if (lacks === undefined || (code !== 'STORE_MISSING' && code !== 'FETCH_STATUS')) return undefined
  // The mirror names its last chunk by a number. Here it is `ChunkRanges.last` as long as the size is not known.
  return ranges.equals(ChunkRanges.last) ? lacks.union(ranges) : lacks
}
