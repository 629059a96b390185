// Tells the caller of a download how far it is, how fast, and what each mirror has brought.

/** @import { Clock } from '../../../verifier/mirrors/patience.js' */
/** @import { MirrorReport } from '../../../verifier/mirrors/health.js' */

/**
 * @typedef {object} DownloadState
 * @property {number} done  bytes of the wanted ranges that are present, or have come and are being verified. It falls
 *   when a mirror has lied
 * @property {number} [total]  bytes of the wanted ranges, when the size is proven
 * @property {number} rate  bytes each second, over the last seconds
 * @property {number} [timeLeft]  milliseconds, at that rate
 * @property {MirrorReport[]} mirrors
 */
/** @typedef {{ type: 'baobox:download', detail: DownloadState }} DownloadEvent */

/** Milliseconds between two events, at least, and of the time in which the rate is taken. */
const EVENT_MS = 200
const RATE_MS = 5000

export class DownloadProgress {
  #onProgress
  #clock
  /** What was done at some times of the last seconds. */
  #samples = /** @type {{ time: number, done: number }[]} */ ([])

  /** @param {{ onProgress?: (event: DownloadEvent) => void, clock: Clock }} options */
  constructor ({ onProgress, clock }) {
    this.#onProgress = onProgress
    this.#clock = clock
  }

  /**
   * Sends an event, if it is time for one.
   *
   * @param {() => { done: number, total?: number, mirrors: MirrorReport[] }} state
   * @param {{ isDue?: boolean }} [options]  `isDue`: send it in any case
   */
  report (state, { isDue = false } = {}) {
    if (this.#onProgress === undefined) return
    const time = this.#clock.now()
    const last = this.#samples.at(-1)
    if (!isDue && last !== undefined && time - last.time < EVENT_MS) return
    const { done, total, mirrors } = state()
    this.#samples.push({ time, done })
    while (this.#samples.length > 2 && time - this.#samples[0].time > RATE_MS) this.#samples.shift()
    const [first] = this.#samples
    const rate = Math.max(0, Math.round(1000 * (done - first.done) / Math.max(1, time - first.time)))
    const timeLeft = total === undefined || rate === 0 ? undefined : Math.round(1000 * (total - done) / rate)
    this.#onProgress({ type: 'baobox:download', detail: { done, total, rate, timeLeft, mirrors } })
  }
}
