// Downloads one blob, in stages: its head, a proof of its size, then the missing segments. The bytes that mirrors send
// are verified and stored as in `receive`, so a download can be resumed.

import { ChunkRanges, rangesLen } from '../../../lib/tree/ranges.js'
import { Candidates } from '../../../verifier/mirrors/candidate.js'
import { HEAD } from './head-receiver.js'
import { Segments } from './segments.js'
import { SizeProof } from './size-proof.js'
import { WantedBlob } from './wanted-blob.js'
import { WholeFiles } from './whole-files.js'

/** @import { MirrorRecord } from '../../../verifier/mirrors/mirror-record.js' */
/** @import { Asked, FallBackOptions, Session, Stage, Task } from '../work.js' */
/** @import { HeadReceiver } from './head-receiver.js' */

/**
 * @typedef {object} BlobOptions
 * @property {Uint8Array} root
 * @property {ChunkRanges} wanted
 * @property {HeadReceiver} [heads]  if given, the head of the blob is fetched first, before the size is proven, because
 *   the head of a small blob is the whole blob
 * @property {number} [maxUnverified]  bytes that may be written before they are verified, if mirrors cannot prove parts
 *   of the blob and everything is wanted. Default: 0
 * @property {(size: number) => void} [assertSize]  throws if a blob of this size must not be downloaded
 */

/** The work of downloading one blob: see `Work` in work.js. */
export class BlobDownload {
  #session
  #blob
  #heads
  #assertSize
  #candidates
  /** The wanted chunks that the store lacked at the beginning. */
  #lacked = ChunkRanges.none
  /** Undefined until the download begins. @type {Stage | undefined} */
  #stage
  /** The stage that replaces `#stage` while a whole file is read. */
  #wholeFiles

  /** @param {Session} session @param {BlobOptions} options */
  constructor (session, { heads, maxUnverified = 0, assertSize, ...blob }) {
    this.#session = session
    this.#blob = new WantedBlob(session, blob)
    this.#heads = heads
    this.#assertSize = assertSize
    this.#candidates = new Candidates(session.book)
    this.#wholeFiles = new WholeFiles(this.#blob, maxUnverified, size => this.#planSegments(size))
  }

  /** The size of the blob in bytes; undefined until it is proven. @returns {number | undefined} */
  get size () { return this.#blob.size }

  get isDone () { return this.size !== undefined && this.#current?.isDone === true }

  /** When the download is done, the number of bytes that were missing at the beginning. */
  get received () {
    const size = this.size ?? 0
    return rangesLen(this.#blob.groups(size).intersect(this.#lacked), size)
  }

  get progress () { return this.#current?.progress ?? { done: 0 } }

  /** The report of each mirror, if the mirrors are asked for this blob alone. */
  get reports () { return this.#candidates.all.map(({ report }) => report) }

  /** True if no mirror can give the missing chunks. */
  get isHopeless () { return this.#current?.isHopeless(this.#candidates.all) === true }

  /** @returns {Stage | undefined} */
  get #current () { return this.#wholeFiles.isChosen ? this.#wholeFiles : this.#stage }

  /** Chooses the first stage, and the one after the head. The other stages call `#planSegments` when they end. */
  async refill () {
    const isFirst = this.#stage === undefined
    if (!isFirst && (this.size !== undefined || !this.#stage?.isDone)) return
    const stat = await this.#blob.stat()
    if (isFirst) this.#lacked = this.#blob.missingBy(stat, ChunkRanges.all)
    if (stat?.sizeProven) return this.#planSegments(stat.size)
    const isHead = isFirst && stat === undefined && this.#heads !== undefined
    this.#stage = isHead
      ? new Segments(this.#blob, HEAD, this.#heads)
      : new SizeProof(this.#blob, this.#blob.presentLen(stat), size => this.#planSegments(size))
  }

  /** Plans the fetching of all missing groups, once the size is proven. @param {number} size */
  async #planSegments (size) {
    this.#assertSize?.(size)
    const missing = await this.#blob.missing(this.#blob.groups(size))
    this.#blob.size = size
    this.#stage = new Segments(this.#blob, missing)
    this.#session.progress.report()
  }

  /**
   * @param {MirrorRecord} record @param {Asked & { mayRace?: boolean }} asked  `mayRace`: default: true
   * @returns {Task | undefined}
   */
  nextTask (record, asked) {
    return this.#current?.nextTask(this.#candidates.of(record), { mayRace: true, ...asked })
  }

  /**
   * Begins to read a whole file if no mirror can help in another way, and none can be added.
   *
   * @param {FallBackOptions} options
   * @throws {import('../../../lib/core/errors.js').BaoError} FETCH_EXHAUSTED when no whole file is left
   */
  fallBack ({ moreMirrorsMayCome }) {
    if (moreMirrorsMayCome || !this.isHopeless) return false
    if (!this.#wholeFiles.choose()) throw this.makeExhaustedError()
    return true
  }

  /** The error that lists the failures of the mirrors, with this blob or with earlier ones. */
  makeExhaustedError () { return this.#candidates.makeExhaustedError() }
}
