// Keeps the mirrors of one call and the record of each. It says which mirror is asked next, and when.

import { assertInteger } from '../../lib/core/bytes.js'
import { locationOf } from '../sources/http/urls.js'
import { MirrorRecord } from './mirror-record.js'
import { mirrorOf } from './mirror.js'
import { systemClock } from './patience.js'

/** @import { HttpOptions } from '../sources/http/options.js' */
/** @import { Mirror } from './mirror.js' */
/** @import { Clock } from './patience.js' */

/**
 * @typedef {object} TryOptions
 * @property {number} [retries]  after how many failures in a row a mirror is still asked again; default: 3
 * @property {number} [stall]  milliseconds of waiting within which 16 KiB must arrive; default: 15 000
 * @property {number} [maxDuplicates]  how many mirrors the servers may add to those of the caller, by `Link: <...>;
 *   rel=duplicate` (RFC 6249); default: 4; 0 for none
 */
/**
 * @typedef {object} BookOptions
 * @property {Clock} [clock]
 * @property {{ report: (options?: { arrived?: number, isDue?: boolean }) => void }} [progress]  `report` is called with
 *   `arrived`, the length of a piece in bytes, when a mirror has sent it, and with `isDue` when a mirror has failed
 */
/**
 * @typedef {object} Choice  one of the mirrors from which the book chooses
 * @property {boolean} isUsable  true if it may be asked, now or later
 * @property {number} retryAt  the earliest time, by the clock of the book, at which it may be asked
 * @property {number} rate  recent verified bytes per second; 0 before the first ones
 */

export const TRY_OPTIONS = ['retries', 'stall', 'maxDuplicates']
export const DEFAULT_STALL = 15_000
const DEFAULT_RETRIES = 3
/**
 * The same as the default number of mirrors that a download asks at the same time. More would only wait, and this
 * process would send requests to more servers that a stranger has chosen.
 */
const DEFAULT_MAX_DUPLICATES = 4
/** The rate that counts for a mirror that has sent nothing yet, so that it is asked first. */
const MAX_RATE = Number.MAX_VALUE

export class MirrorBook {
  /** The mirrors that were added because a server named them. */
  #duplicates = /** @type {Set<Mirror>} */ (new Set())
  /** The record of each mirror, in the order in which the mirrors were added. @type {MirrorRecord[]} */
  records = []
  /** Called after a mirror that a server has named was added. */
  onDuplicate = () => {}

  /** @param {TryOptions & BookOptions} [options] */
  constructor (options = {}) {
    const { retries = DEFAULT_RETRIES, stall = DEFAULT_STALL, maxDuplicates = DEFAULT_MAX_DUPLICATES } = options
    assertInteger('retries', retries)
    assertInteger('stall', stall, 1)
    assertInteger('maxDuplicates', maxDuplicates)
    this.retries = retries
    this.stall = stall
    this.maxDuplicates = maxDuplicates
    this.clock = options.clock ?? systemClock
    this.progress = options.progress ?? { report: () => {} }
  }

  /** @param {Mirror} mirror */
  add (mirror) { this.records.push(new MirrorRecord(mirror)) }

  /**
   * Adds the mirror at a URL that another mirror has named. A mirror that was added in this way cannot add others, so
   * chains and loops are impossible.
   *
   * @param {Mirror} from @param {URL} url @param {HttpOptions} http
   */
  addDuplicate (from, url, http) {
    if (this.#duplicates.size >= this.maxDuplicates || this.#duplicates.has(from)) return
    if (this.records.some(({ mirror }) => mirror.location === locationOf(url))) return
    const mirror = mirrorOf(url, http)
    this.#duplicates.add(mirror)
    this.add(mirror)
    this.onDuplicate()
  }

  /** The mirrors that may be asked, now or later. */
  get usable () { return this.records.filter(({ isUsable }) => isUsable) }

  /** The report of each mirror. */
  get reports () { return this.records.map(({ report }) => report) }

  /** The last error of each mirror that has failed. */
  get errors () { return this.records.flatMap(({ error }) => error ?? []) }

  /**
   * The mirrors that may be asked now: those without a rate, then the others by their rates, the quickest first. Among
   * equals, the one with the earliest `retryAt` comes first.
   *
   * @template {Choice} T
   * @param {T[]} choices @param {number} [now]
   */
  inTurn (choices, now = this.clock.now()) {
    const ready = choices.filter(({ isUsable, retryAt }) => isUsable && retryAt <= now)
    return ready.sort((a, b) => (b.rate || MAX_RATE) - (a.rate || MAX_RATE) || a.retryAt - b.retryAt)
  }

  /**
   * Waits until a mirror may be asked, and returns the first one in the order of `inTurn`.
   *
   * @template {Choice} T
   * @param {T[]} choices @param {AbortSignal} [signal]
   * @returns {Promise<T | undefined>} undefined if none of them may be asked, now or later
   */
  async next (choices, signal) {
    while (true) {
      signal?.throwIfAborted()
      const now = this.clock.now()
      const [first] = this.inTurn(choices, now)
      const times = choices.filter(({ isUsable }) => isUsable).map(({ retryAt }) => retryAt)
      if (first !== undefined || times.length === 0) return first
      await this.clock.sleep(Math.min(...times) - now, signal)
    }
  }
}
