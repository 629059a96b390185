// Knows the mirrors of one call, and what each has done in it. Says which of them is asked next, and when.

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
 * @property {number} [retries]  how often a mirror is asked again after failures in a row; default: 3
 * @property {number} [stall]  milliseconds in which 16 KiB must come; default: 15 000
 * @property {number} [maxDuplicates]  how many mirrors the servers may add to those of the caller, by
 *   `Link: <...>; rel=duplicate` (RFC 6249); default: 4, 0 for none
 */
/**
 * @typedef {object} BookOptions
 * @property {Clock} [clock]
 * @property {{ report: (options?: { isDue?: boolean }) => void }} [progress]  is told when a mirror has sent a piece,
 *   and with `isDue` when one has failed
 */
/**
 * @typedef {object} Choice  a mirror, as one of those that may be asked
 * @property {boolean} isUsable  true if it may be asked, now or later
 * @property {number} retryAt  when it may be asked
 * @property {number} rate  verified bytes each second, of late; 0 until something has come
 */

export const TRY_OPTIONS = ['retries', 'stall', 'maxDuplicates']
export const DEFAULT_STALL = 15_000
const DEFAULT_RETRIES = 3
/**
 * As many as a download asks at once. More would wait; and every one of them is a server that a stranger has chosen,
 * and that gets requests of this process.
 */
const DEFAULT_MAX_DUPLICATES = 4
/** More than any mirror has. */
const MAX_RATE = Number.MAX_VALUE

export class MirrorBook {
  /** The mirrors that servers have named. */
  #duplicates = /** @type {Set<Mirror>} */ (new Set())
  /** One for each mirror, in the order in which they were added. @type {MirrorRecord[]} */
  records = []
  /** Called when a mirror that a server has named was added. */
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
   * Adds the mirror at a URL that another mirror has named. Those that were added so name no others: there are no
   * chains and no loops.
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

  /** What each mirror has done. */
  get reports () { return this.records.map(({ report }) => report) }

  /** The last error of each mirror that has failed. */
  get errors () { return this.records.flatMap(({ error }) => error ?? []) }

  /**
   * Those that may be asked now: first those of which least is known, then the quickest; and of these, first those that
   * have failed longest ago.
   *
   * @template {Choice} T
   * @param {T[]} choices @param {number} [now]
   */
  inTurn (choices, now = this.clock.now()) {
    const ready = choices.filter(({ isUsable, retryAt }) => isUsable && retryAt <= now)
    return ready.sort((a, b) => (b.rate || MAX_RATE) - (a.rate || MAX_RATE) || a.retryAt - b.retryAt)
  }

  /**
   * The one to ask next, when it may be asked.
   *
   * @template {Choice} T
   * @param {T[]} choices @param {AbortSignal} [signal]
   * @returns {Promise<T | undefined>} undefined when none of them may be asked any more
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
