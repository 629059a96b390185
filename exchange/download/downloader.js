// Gives the tasks of a download to its mirrors. The downloader knows which mirrors are idle, and the book knows which
// mirrors may be asked. The work decides what the tasks are: see work.js.

import { fetchExhausted } from '../../lib/core/errors.js'
import { mirrorsOf } from '../../verifier/mirrors/mirror.js'
import { abortable, eitherOf, untilAborted } from '../../lib/source/async-util.js'

/** @import { MirrorBook } from '../../verifier/mirrors/mirror-book.js' */
/** @import { MirrorLike } from '../../verifier/mirrors/mirror.js' */
/** @import { MirrorRecord } from '../../verifier/mirrors/mirror-record.js' */
/** @import { Task, Work } from './work.js' */

/**
 * The maximum number of requests to one mirror at a time. Browsers use the same number for a server by HTTP/1.1. All
 * except one of the requests are small.
 */
const MAX_REQUESTS = 6

/**
 * @typedef {object} DownloaderOptions
 * @property {Iterable<MirrorLike> | AsyncIterable<MirrorLike>} from
 * @property {boolean} [anyBlob]  true if mirrors must be able to give any blob. Default: false
 * @property {number} parallel  how many mirrors are asked at the same time
 * @property {AbortSignal} signal
 */

export class Downloader {
  #book
  #options
  #ended = new AbortController()
  #adding
  /** The tasks of each mirror that is busy. @type {Map<MirrorRecord, Set<Task>>} */
  #busy = new Map()
  #running = /** @type {Set<Promise<void>>} */ (new Set())
  /** The error that ended the download. @type {{ error: unknown } | undefined} */
  #failure
  #wake = () => {}
  /** True if a task has ended, or a mirror was added, since tasks were last given out. */
  #isAwake = false
  /** True while `from` may yield more mirrors. */
  #isOpen = true

  /** @param {MirrorBook} book  without mirrors @param {DownloaderOptions} options */
  constructor (book, options) {
    this.#book = book
    this.#options = options
    /** Aborts when the download ends, in success or failure. */
    this.signal = eitherOf(options.signal, this.#ended.signal)
    book.onDuplicate = () => this.#wake()
    this.#adding = this.#addMirrors()
  }

  /** Does work until it is done. @param {Work} work */
  async run (work) {
    while (true) {
      this.#isAwake = false
      const woken = new Promise(resolve => {
        this.#wake = () => {
          this.#isAwake = true
          resolve(undefined)
        }
      })
      await work.refill()
      this.#throwFailure()
      if (work.isDone) return
      const now = this.#book.clock.now() // the same for both calls, so that no mirror is missed
      this.#giveTasks(work, now)
      if (!work.fallBack({ moreMirrorsMayCome: this.#isOpen })) await this.#wait(woken, now, work.wakeAt)
      this.#throwFailure()
    }
  }

  /** Aborts the tasks under way, and waits until they have ended. */
  async end () {
    this.#ended.abort(new DOMException('the download has ended', 'AbortError'))
    await Promise.allSettled(this.#running)
    await this.#adding
  }

  #throwFailure () {
    this.signal.throwIfAborted()
    if (this.#failure !== undefined) throw this.#failure.error
  }

  /** Adds the mirrors of `from` as they arrive. */
  async #addMirrors () {
    const { from, anyBlob } = this.#options
    try {
      for await (const next of abortable(from, this.#ended.signal)) {
        for (const mirror of mirrorsOf(next)) {
          if (anyBlob && !mirror.hasAnyBlob) {
            const message = `"from" expected mirrors of any blob: ${mirror.location} has one. Put {cid} into the URL`
            throw new TypeError(message)
          }
          this.#book.add(mirror)
        }
        this.#wake()
      }
    } catch (error) {
      this.#failure ??= { error }
    }
    this.#isOpen = false
    this.#wake()
  }

  /**
   * Gives tasks to mirrors, in rounds of one task for each mirror.
   *
   * @param {Work} work @param {number} now
   */
  #giveTasks (work, now) {
    const { parallel } = this.#options
    const ready = this.#book.inTurn(this.#book.records, now)
    const mirrorCount = Math.min(this.#book.usable.length, parallel)
    for (let isGiven = true; isGiven;) {
      isGiven = false
      for (const record of ready) {
        const tasks = [...this.#busy.get(record) ?? []]
        const isIdle = tasks.length === 0
        const mayBegin = isIdle ? this.#busy.size < parallel : tasks.length < MAX_REQUESTS
        if (!mayBegin) continue
        const smallOnly = tasks.some(({ isSmall }) => !isSmall)
        const task = work.nextTask(record, { now, mirrorCount, isIdle, smallOnly })
        if (task === undefined) continue
        this.#begin(record, task)
        isGiven = true
      }
    }
  }

  /**
   * Begins a task. The mirror is free for the next one when it has sent everything, or when the task has ended.
   *
   * @param {MirrorRecord} record @param {Task} task
   */
  #begin (record, task) {
    const tasks = this.#busy.get(record) ?? new Set()
    this.#busy.set(record, tasks.add(task))
    const free = () => {
      tasks.delete(task)
      if (tasks.size === 0 && this.#busy.get(record) === tasks) this.#busy.delete(record)
      this.#wake()
    }
    const running = task.run(free).catch(error => { this.#failure ??= { error } }).finally(() => {
      this.#running.delete(running)
      free()
    })
    this.#running.add(running)
  }

  /**
   * Waits until a mirror has ended a task, may be asked again, or is added, but at most until `wakeAt`.
   *
   * @param {Promise<unknown>} woken @param {number} now @param {number} [wakeAt]
   * @throws {import('../../lib/core/errors.js').BaoError} FETCH_EXHAUSTED when none of this can happen
   */
  async #wait (woken, now, wakeAt = Infinity) {
    if (this.#isAwake) return // A task has ended during `refill`, possibly too late for `refill` to notice.
    const { clock, usable, errors } = this.#book
    const times = [...usable.map(({ retryAt }) => retryAt), wakeAt].filter(time => time > now && time < Infinity)
    if (this.#running.size === 0 && times.length === 0 && !this.#isOpen && this.#failure === undefined) {
      throw fetchExhausted(errors)
    }
    const waiting = new AbortController()
    const timer = times.length === 0
      ? woken
      : clock.sleep(Math.min(...times) - now, waiting.signal).catch(() => {})
    try {
      await untilAborted(Promise.race([woken, timer]), this.signal)
    } finally {
      waiting.abort()
    }
  }
}
