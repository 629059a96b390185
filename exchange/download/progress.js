// Tells the caller of a download how far it has got, how fast it is, and how much each mirror has sent.

/** @import { CID } from 'multiformats/cid' */
/** @import { Clock } from '../../verifier/mirrors/patience.js' */
/** @import { MirrorReport } from '../../verifier/mirrors/mirror-record.js' */

/**
 * @typedef {object} DownloadState
 * @property {number} done  bytes of the wanted ranges that are present, or received and being verified. The number
 *   falls when a mirror has lied
 * @property {number} [total]  bytes of the wanted ranges; undefined until the size is proven, and always with
 *   `recursive`
 * @property {number} rate  bytes per second that all mirrors together have sent in the last seconds
 * @property {number} [timeLeft]  milliseconds until the end, if the rate stays the same
 * @property {MirrorReport[]} mirrors
 * @property {MembersState} [members]  the members of a sequence, once the store has it
 */
/**
 * @typedef {object} MembersState
 * @property {number} done  members that are whole
 * @property {number} total
 * @property {MemberState[]} current  the members that are being downloaded
 */
/**
 * @typedef {object} MemberState
 * @property {number} index  its place in the sequence
 * @property {CID} cid
 * @property {number} done  bytes
 * @property {number} [total]  bytes, once the size is proven
 */
/** @typedef {{ type: 'baobox:download', detail: DownloadState & { unit: 'bytes' } }} DownloadEvent */
/** @typedef {Omit<DownloadState, 'rate' | 'timeLeft'>} CurrentState */

/** The minimum time between two events, and the time over which the rate is computed, in milliseconds. */
const EVENT_MS = 200
const RATE_MS = 5000

export class DownloadProgress {
  #onProgress
  #clock
  /** How many bytes had arrived at some times in the last seconds. */
  #samples = /** @type {{ time: number, arrived: number }[]} */ ([])
  #arrived = 0

  /** @param {{ onProgress?: (event: DownloadEvent) => void, clock: Clock }} options */
  constructor ({ onProgress, clock }) {
    this.#onProgress = onProgress
    this.#clock = clock
  }

  /** How far the download has got. @type {() => CurrentState} */
  state = () => ({ done: 0, mirrors: [] })

  /**
   * Sends an event, if it is time for one.
   *
   * @param {{ arrived?: number, isDue?: boolean }} [options]  `arrived`: bytes that a mirror has just sent; `isDue`:
   *   send the event in any case
   */
  report ({ arrived = 0, isDue = false } = {}) {
    if (this.#onProgress === undefined) return
    this.#arrived += arrived
    const time = this.#clock.now()
    const last = this.#samples.at(-1)
    if (!isDue && last !== undefined && time - last.time < EVENT_MS) return
    const state = this.state()
    const { done, total } = state
    this.#samples.push({ time, arrived: this.#arrived })
    while (this.#samples.length > 2 && time - this.#samples[0].time > RATE_MS) this.#samples.shift()
    const [first] = this.#samples
    const rate = Math.round(1000 * (this.#arrived - first.arrived) / Math.max(1, time - first.time))
    const timeLeft = total === undefined || rate === 0 ? undefined : Math.round(1000 * (total - done) / rate)
    this.#onProgress({ type: 'baobox:download', detail: { ...state, total, rate, timeLeft, unit: 'bytes' } })
  }
}
