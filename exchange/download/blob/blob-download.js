// Downloads one blob, in steps: its head, a proof of its size, then the segments that are missing. What mirrors send is
// verified and stored as by `receive`, so a download can be resumed.

import { fetchExhausted } from '../../../lib/core/errors.js'
import { ChunkRanges, rangesLen } from '../../../lib/tree/ranges.js'
import { Supply } from '../../../verifier/mirrors/supply.js'
import { HEAD } from './head-receiver.js'
import { Segments } from './segments.js'
import { SizeProof } from './size-proof.js'
import { WantedBlob } from './wanted-blob.js'
import { WholeFiles } from './whole-files.js'

/** @import { Health } from '../../../verifier/mirrors/health.js' */
/** @import { StoreContext } from '../../../store/store-context.js' */
/** @import { Asked, DownloadTerms, Task } from '../downloader.js' */
/** @import { HeadReceiver } from './head-receiver.js' */
/** @import { WantedBlobOptions } from './wanted-blob.js' */

/**
 * @typedef {object} BlobOptions
 * @property {HeadReceiver} [heads]  has the head of the blob fetched first, before the size is proven: it is the whole
 *   of a small blob
 * @property {number} [maxUnverified]  bytes that may be written before they are verified, when mirrors prove no part of
 *   the blob and everything is wanted. Default: 0
 * @property {(size: number) => void} [assertSize]  throws when a blob of that size is not to be downloaded
 */

/** @typedef {Asked & { mayRace: boolean }} AskedForBlob  `mayRace`: may the mirror do what another one does already? */

/**
 * @typedef {object} Step
 * @property {boolean} isDone  has everything that is wanted come?
 * @property {(supply: Supply, asked: AskedForBlob) => Task | undefined} take  undefined when the mirror can do nothing
 *   now
 * @property {(supplies: Supply[]) => boolean} isHopeless  is nothing under way, and can none of them bring more?
 * @property {{ done: number, total?: number }} progress  bytes
 */

/** The work of downloading one blob: see `Work` in downloader.js. */
export class BlobDownload {
  #blob
  #terms
  #heads
  #assertSize
  /** @type {Map<Health, Supply>} */
  #supplies = new Map()
  /** What the store lacked at the beginning. */
  #lacked = ChunkRanges.none
  /** Undefined until the download begins. @type {Step | undefined} */
  #step
  /** Takes the place of the step while a whole file is read. */
  #wholeFiles

  /**
   * @param {StoreContext} store @param {DownloadTerms} terms @param {AbortSignal} signal  of the downloader
   * @param {WantedBlobOptions & BlobOptions} options
   */
  constructor (store, terms, signal, { heads, maxUnverified = 0, assertSize, ...blob }) {
    this.#blob = new WantedBlob(store, terms, signal, blob)
    this.#terms = terms
    this.#heads = heads
    this.#assertSize = assertSize
    this.#wholeFiles = new WholeFiles(this.#blob, maxUnverified, size => this.#planSegments(size))
  }

  /** Bytes of the blob, once they are proven. @returns {number | undefined} */
  get size () { return this.#blob.size }

  get isDone () { return this.size !== undefined && this.#current?.isDone === true }

  /** Bytes that were missing at the beginning, when it is done. */
  get received () {
    const size = this.size ?? 0
    return rangesLen(this.#blob.groups(size).intersect(this.#lacked), size)
  }

  get progress () { return this.#current?.progress ?? { done: 0 } }

  /** @returns {Step | undefined} */
  get #current () { return this.#wholeFiles.isChosen ? this.#wholeFiles : this.#step }

  /** Chooses the first step, and the one after the head. */
  async refill () {
    const isFirst = this.#step === undefined
    if (!isFirst && (this.size !== undefined || !this.#step?.isDone)) return
    const record = await this.#blob.record()
    if (isFirst) this.#lacked = await this.#blob.missingBy(record, ChunkRanges.all)
    if (record?.sizeProven) return this.#planSegments(record.size)
    const isHead = isFirst && record === undefined && this.#heads !== undefined
    this.#step = isHead
      ? new Segments(this.#blob, HEAD, this.#heads)
      : new SizeProof(this.#blob, size => this.#planSegments(size))
  }

  /** Has what is missing of a blob of proven size fetched. @param {number} size */
  async #planSegments (size) {
    this.#assertSize?.(size)
    const missing = await this.#blob.missing(this.#blob.groups(size))
    this.#blob.size = size
    this.#step = new Segments(this.#blob, missing)
    this.#terms.progress.report()
  }

  /**
   * @param {Health} health @param {Asked & { mayRace?: boolean }} asked  `mayRace`: default: true
   * @returns {Task | undefined}
   */
  take (health, asked) { return this.#current?.take(this.#supplyOf(health), { mayRace: true, ...asked }) }

  /** Can none of these mirrors bring what is missing? @param {Health[]} mirrors */
  isHopeless (mirrors) {
    return this.#current?.isHopeless(mirrors.map(health => this.#supplyOf(health))) === true
  }

  /**
   * Has a whole file read when no mirror can help otherwise.
   *
   * @param {Health[]} mirrors @param {boolean} isOpen  may more mirrors come?
   * @throws {import('../../../lib/core/errors.js').BaoError} FETCH_EXHAUSTED when there is none
   */
  giveUp (mirrors, isOpen) {
    if (isOpen || !this.isHopeless(mirrors)) return false
    if (!this.#wholeFiles.choose()) throw this.makeExhaustedError(mirrors)
    return true
  }

  /** The error that tells what mirrors have failed with, with this blob or before. @param {Health[]} mirrors */
  makeExhaustedError (mirrors) {
    return fetchExhausted(mirrors.flatMap(health =>
      this.#supplyOf(health).error ?? (health.isUsable ? [] : health.error ?? [])))
  }

  /** What each mirror has done, when it is asked for this blob alone. @param {Health[]} mirrors */
  reports (mirrors) { return mirrors.map(health => this.#supplyOf(health).report) }

  /** @param {Health} health */
  #supplyOf (health) {
    const supply = this.#supplies.get(health) ?? new Supply(health)
    this.#supplies.set(health, supply)
    return supply
  }
}
