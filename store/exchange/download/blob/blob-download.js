// Downloads one blob. Every mirror fetches one segment at a time. What it sends is verified and stored as by `receive`,
// so a mirror that fails or lies costs nothing but its time, and a download can be resumed.

import { BaoError, fetchExhausted } from '../../../../lib/core/errors.js'
import { ChunkRanges } from '../../../../lib/tree/ranges.js'
import { DEFAULT_GROUP_LOG } from '../../../../lib/core/constants.js'
import { SliceVerifier } from '../../../../verifier/slice/slice.js'
import { isLie } from '../../../../verifier/mirrors/health.js'
import { Supply } from '../../../../verifier/mirrors/supply.js'
import { rangesLen } from '../../../catalog/presence.js'
import { verifyPieces } from '../../../../verifier/slice/pieces.js'
import { withPatience } from '../../../../verifier/mirrors/patience.js'
import { HEAD } from './head-receiver.js'
import { Plan } from './plan.js'
import { WholeFiles } from './whole-files.js'

/** @import { Health } from '../../../../verifier/mirrors/health.js' */
/** @import { Mirror } from '../../../../verifier/mirrors/mirror.js' */
/** @import { WholeFile } from '../../../../verifier/mirrors/server/url-mirror.js' */
/** @import { HttpOptions } from '../../../../verifier/sources/http.js' */
/** @import { BlobRecord } from '../../../storage/format/records.js' */
/** @import { StoreContext } from '../../store-context.js' */
/** @import { Asked, DownloadTerms, Task } from '../downloader.js' */
/** @import { HeadReceiver } from './head-receiver.js' */
/** @import { Fetching, Segment } from './plan.js' */

/**
 * @typedef {object} BlobTerms
 * @property {Uint8Array} root
 * @property {ChunkRanges} wanted
 * @property {HeadReceiver} [heads]  has the head of the blob fetched first, before the size is proven: it is the whole
 *   of a small blob
 * @property {(from: Mirror, url: URL, http: HttpOptions) => void} [onDuplicate]  called when a mirror names another
 * @property {number} [maxUnverified]  bytes that may be written before they are verified, when mirrors prove no part of
 *   the blob and everything is wanted. Default: 0
 * @property {(size: number) => void} [assertSize]  throws when a blob of that size is not to be downloaded
 */

/** The work of downloading one blob: see `Work` in downloader.js. */
export class BlobDownload {
  #store
  #terms
  #signal
  #blob
  /** @type {Map<Health, Supply>} */
  #supplies = new Map()
  /** The mirrors that have been asked for the last chunk, which proves the size. */
  #provers = /** @type {Set<Supply>} */ (new Set())
  /** Ends their requests when one of them has proven the size. */
  #sizing = new AbortController()
  #hasBegun = false
  /** Of the head until the size is known, then of the rest. @type {Plan | undefined} */
  #plan
  /** What was missing at the beginning. */
  #lacked = ChunkRanges.none
  /** The files of mirrors that have all bytes, and nothing that proves a part of them. */
  #files
  /** The one of them that is read from its beginning now, and how many of its bytes have come. */
  #reading = /** @type {{ supply: Supply, file: WholeFile, len: number, isBegun: boolean } | undefined} */ (undefined)
  /** Proven. @type {number | undefined} */
  size

  /**
   * @param {StoreContext} store @param {DownloadTerms} terms @param {AbortSignal} signal  of the downloader
   * @param {BlobTerms} blob
   */
  constructor (store, terms, signal, blob) {
    this.#store = store
    this.#terms = terms
    this.#signal = signal
    this.#blob = blob
    this.#files = new WholeFiles(store, blob)
  }

  get isDone () { return this.size !== undefined && this.#plan?.isDone === true }

  /** Bytes that were missing at the beginning, when it is done. */
  get received () {
    const size = this.size ?? 0
    return rangesLen(groupsOf(this.#blob.wanted, size).intersect(this.#lacked), size)
  }

  /** Looks at what the store has of the blob, and plans what is to be fetched. */
  async refill () {
    if (this.#hasBegun && (this.size !== undefined || !this.#plan?.isDone)) return
    const { root, heads } = this.#blob
    const record = await this.#store.catalog.get(root)
    if (!this.#hasBegun) this.#lacked = await this.#missingOf(record, ChunkRanges.all)
    if (record?.sizeProven) await this.#begin(record.size)
    else if (record === undefined && heads !== undefined && !this.#hasBegun) this.#plan = new Plan(HEAD)
    else this.#plan = undefined
    this.#hasBegun = true
  }

  /**
   * @param {Health} health @param {Asked & { mayRace?: boolean }} asked  `mayRace`: may it do what another mirror does
   *   already? Default: true
   * @returns {Task | undefined}
   */
  take (health, { now, mirrors, smallOnly, mayRace = true }) {
    const supply = this.#supplyOf(health)
    if (this.#reading !== undefined) return this.#takeWhole(supply, smallOnly)
    if (!supply.isUsable) return undefined
    if (this.#plan === undefined) {
      if (this.size !== undefined) return undefined // it is being planned
      if (supply.lacksLast || this.#provers.has(supply) || (this.#provers.size > 0 && !mayRace)) return undefined
      return { run: () => this.#proveSize(supply), isSmall: true }
    }
    const isSmall = this.size === undefined
    if (smallOnly && !isSmall) return undefined
    const segment = this.#plan.take(supply, { now, mirrors, mayRace })
    return segment && { run: () => this.#fetch(supply, segment), isSmall }
  }

  /** @param {Supply} supply @param {boolean} smallOnly @returns {Task | undefined} */
  #takeWhole (supply, smallOnly) {
    const reading = this.#reading
    if (smallOnly || reading?.supply !== supply || reading.isBegun) return undefined
    reading.isBegun = true
    return { run: () => this.#fetchWhole(reading), isSmall: false }
  }

  /** Can none of these mirrors bring what is missing? @param {Health[]} mirrors */
  isHopeless (mirrors) {
    if (this.#reading !== undefined || this.#provers.size > 0 || this.isDone) return false
    if ((this.#plan?.segments.size ?? 0) > 0) return false
    if (this.#plan?.free.isEmpty || (this.#plan === undefined && this.size !== undefined)) return false
    const mayBring = (/** @type {Supply} */ supply) =>
      this.#plan === undefined ? !supply.lacksLast : !this.#plan.free.difference(supply.lacks).isEmpty
    return !mirrors.map(health => this.#supplyOf(health)).some(supply => supply.isUsable && mayBring(supply))
  }

  /** The error that tells what mirrors have failed with, with this blob or before. @param {Health[]} mirrors */
  makeExhaustedError (mirrors) {
    return fetchExhausted(mirrors.flatMap(health =>
      this.#supplyOf(health).error ?? (health.isUsable ? [] : health.error ?? [])))
  }

  /**
   * Starts to read a whole file when no mirror can help. Throws when there is none.
   *
   * @param {Health[]} mirrors @param {boolean} isOpen  may more mirrors come?
   */
  giveUp (mirrors, isOpen) {
    if (isOpen || !this.isHopeless(mirrors)) return false
    const next = this.#files.take()
    if (next === undefined) throw this.makeExhaustedError(mirrors)
    this.#reading = { ...next, len: 0, isBegun: false }
    return true
  }

  /** What each mirror has done, when it is asked for this blob alone. @param {Health[]} mirrors */
  reports (mirrors) { return mirrors.map(health => this.#supplyOf(health).report) }

  /** @returns {{ done: number, total?: number }} bytes */
  get progress () {
    const [plan, size] = [this.#plan, this.size]
    if (this.#reading !== undefined) return { done: this.#reading.len, total: size }
    if (size === undefined || plan === undefined) return { done: 0 }
    const total = rangesLen(groupsOf(this.#blob.wanted, size), size)
    let left = rangesLen(plan.free, size)
    for (const { ranges, fetchings } of plan.segments) {
      const come = Math.max(0, ...[...fetchings].map(({ len }) => len))
      left += Math.max(0, rangesLen(ranges, size) - come)
    }
    return { done: total - left, total }
  }

  /** @param {Health} health */
  #supplyOf (health) {
    const supply = this.#supplies.get(health) ?? new Supply(health)
    this.#supplies.set(health, supply)
    return supply
  }

  /**
   * Has a mirror prove the size. Until then nothing but the head is fetched, because any size may be a lie. The first
   * mirror that proves it is enough.
   *
   * @param {Supply} supply
   */
  async #proveSize (supply) {
    const { root } = this.#blob
    const ranges = ChunkRanges.last
    const verifier = new SliceVerifier({ root, ranges })
    const signal = AbortSignal.any([this.#signal, this.#sizing.signal])
    const since = this.#terms.clock.now()
    this.#provers.add(supply)
    try {
      const leaves = verifyPieces(verifier, this.#pieces(supply, ranges, signal, { len: 0 }))
      while (!(await leaves.next()).done);
    } catch (error) {
      if (!signal.aborted) this.#note(supply, error, ranges, since)
      return
    } finally {
      this.#provers.delete(supply)
    }
    supply.progressed()
    if (this.size === undefined) await this.#begin(/** @type {number} */ (verifier.size))
  }

  /** Plans the download of a blob of proven size. @param {number} size */
  async #begin (size) {
    this.#blob.assertSize?.(size)
    this.size = size
    this.#plan = undefined
    this.#sizing.abort(new DOMException('the size is known', 'AbortError'))
    this.#plan = new Plan(await this.#missing(groupsOf(this.#blob.wanted, size)))
    this.#terms.progress.report()
  }

  /**
   * Has a mirror bring all bytes of the blob, and keeps them when they have turned out right.
   *
   * @param {{ supply: Supply, file: WholeFile, len: number, error?: unknown }} reading
   */
  async #fetchWhole (reading) {
    const { supply, file } = reading
    const since = this.#terms.clock.now()
    try {
      const open = (/** @type {AbortSignal} */ signal) => this.#files.pieces(supply, file, this.size, signal)
      const pieces = this.#patiently(supply.mirror, open, this.#signal, reading)
      const options = { expect: this.#blob.root, size: this.size, signal: this.#signal }
      const { size } = await this.#store.writer.put(pieces, options)
      supply.gained(size, this.#terms.clock.now() - since)
      await this.#begin(size)
    } catch (error) {
      if (this.#signal.aborted) return
      if (!isOfMirror(error, reading)) throw error
      this.#note(supply, error, ChunkRanges.all, since)
    } finally {
      this.#reading = undefined
    }
  }

  /**
   * Has a mirror fetch a segment, and keeps what is right of it.
   *
   * @param {Supply} supply @param {Segment} segment
   */
  async #fetch (supply, segment) {
    const { clock } = this.#terms
    const since = clock.now()
    const fetching = { supply, since, len: 0, ended: new AbortController(), error: undefined }
    segment.fetchings.add(fetching)
    const signal = AbortSignal.any([this.#signal, fetching.ended.signal])
    const missing = await this.#missing(segment.ranges)
    let failure
    let sizeIfWhole
    let kept = 0
    const onKept = (/** @type {number} */ len) => { kept += len }
    try {
      const pieces = this.#pieces(supply, missing, signal, fetching)
      if (!missing.isEmpty) sizeIfWhole = await this.#receive(missing, pieces, { signal, onKept })
    } catch (error) {
      failure = error
    }
    segment.fetchings.delete(fetching)
    const left = sizeIfWhole === undefined ? await this.#missing(segment.ranges) : ChunkRanges.none
    const gained = sizeIfWhole ?? kept
    if (gained > 0) supply.gained(gained, clock.now() - since)
    if (!signal.aborted) {
      if (failure !== undefined && !isOfMirror(failure, fetching)) throw failure
      if (failure !== undefined) this.#note(supply, failure, missing, since)
      else if (left.isEmpty) supply.progressed()
      else if (gained === 0) this.#note(supply, emptySlice(supply.mirror), missing, since)
    }
    this.#end(segment, left)
    this.size ??= sizeIfWhole
  }

  /**
   * Keeps what is right of a slice.
   *
   * @param {ChunkRanges} ranges @param {AsyncIterable<Uint8Array>} pieces
   * @param {{ signal: AbortSignal, onKept: (len: number) => void }} options  as of `BlobReceiver.receive`
   * @returns {Promise<number | undefined>} the size, when the slice was the head and all of the blob
   */
  async #receive (ranges, pieces, options) {
    const { root, heads } = this.#blob
    if (this.size === undefined) return heads?.receive(root, ranges, pieces, options)
    await this.#store.receiver.receive(root, pieces, ranges, options)
  }

  /**
   * A mirror does not fetch a segment any more. When it is whole, the others that raced for it are ended.
   *
   * @param {Segment} segment @param {ChunkRanges} left  what is missing of it
   */
  #end (segment, left) {
    if (!this.#plan?.segments.has(segment)) return
    if (left.isEmpty) for (const { ended } of segment.fetchings) ended.abort(new DOMException('too late', 'AbortError'))
    if (left.isEmpty || segment.fetchings.size === 0) this.#plan.end(segment, left)
  }

  /**
   * The slice of a mirror, unverified.
   *
   * @param {Supply} supply @param {ChunkRanges} ranges @param {AbortSignal} signal
   * @param {{ len: number, error?: unknown }} fetching
   */
  #pieces (supply, ranges, signal, fetching) {
    const { mirror } = supply
    const { root, onDuplicate } = this.#blob
    const what = {
      root,
      ranges,
      groupLog: DEFAULT_GROUP_LOG,
      size: this.size,
      onDuplicate: (/** @type {URL} */ url, /** @type {HttpOptions} */ http) => onDuplicate?.(mirror, url, http),
      onWhole: (/** @type {WholeFile} */ file) => this.#files.add(supply, file)
    }
    return this.#patiently(mirror, signal => mirror.pieces(what, signal), signal, fetching)
  }

  /**
   * What a mirror brings, as long as it brings enough. Counts its bytes, and tells its errors from those of the store.
   *
   * @param {Mirror} mirror @param {(signal: AbortSignal) => AsyncIterable<Uint8Array>} open
   * @param {AbortSignal} signal
   * @param {{ len: number, error?: unknown }} fetching
   */
  async * #patiently ({ location }, open, signal, fetching) {
    const { stall, clock } = this.#terms
    try {
      for await (const piece of withPatience(open, { location, stall, clock, signal })) {
        fetching.len += piece.length
        yield piece
        this.#terms.progress.report()
      }
    } catch (error) {
      fetching.error = error
      throw error
    }
  }

  /** @param {Supply} supply @param {unknown} error @param {ChunkRanges} ranges @param {number} since */
  #note (supply, error, ranges, since) {
    const { retries, clock } = this.#terms
    supply.failed(error, ranges, { retries, now: clock.now(), since })
    this.#terms.progress.report({ isDue: true })
  }

  /** What is missing of some groups. @param {ChunkRanges} groups */
  async #missing (groups) {
    return this.#missingOf(await this.#store.catalog.get(this.#blob.root), groups)
  }

  /** @param {BlobRecord | undefined} record @param {ChunkRanges} groups */
  async #missingOf (record, groups) {
    if (record === undefined) return groups
    return record.complete ? ChunkRanges.none : groups.difference(await this.#store.presence.of(record))
  }
}

/** The groups of a blob that some ranges are in. @param {ChunkRanges} ranges @param {number} size */
const groupsOf = (ranges, size) =>
  ranges.canonical(size).roundToGroups(DEFAULT_GROUP_LOG).intersect(ChunkRanges.all.canonical(size))

/** The error of a mirror whose slice has ended without a fault, and without a byte. @param {Mirror} mirror */
const emptySlice = ({ location }) => new Error(`${location} sent a slice of which nothing could be kept`)

/**
 * Is a failure that of a mirror, and not of the store that keeps what it sends?
 *
 * @param {unknown} failure @param {{ error?: unknown }} fetching
 */
export function isOfMirror (failure, { error }) {
  return failure === error || (failure instanceof BaoError && (failure.code.startsWith('BAO_') || isLie(failure)))
}
