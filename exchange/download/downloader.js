// Gives the tasks of a download to its mirrors. The downloader knows which mirrors there are, which of them are idle,
// and when one may be asked again. The work decides what the tasks are: there is the work of one blob
// (blob/blob-download.js), and that of the members of a sequence (members/member-downloads.js).

import { Duplicates } from '../../verifier/mirrors/duplicates.js'
import { Health } from '../../verifier/mirrors/health.js'
import { fetchExhausted } from '../../lib/core/errors.js'
import { mirrorsOf } from '../../verifier/mirrors/mirror.js'
import { abortable, untilAborted } from '../../lib/source/async-util.js'

/** @import { Clock } from '../../verifier/mirrors/patience.js' */
/** @import { Mirror, MirrorLike } from '../../verifier/mirrors/mirror.js' */
/** @import { HttpOptions } from '../../verifier/sources/http/options.js' */
/** @import { DownloadProgress } from './progress.js' */

/** More than any mirror has. */
const MAX_RATE = Number.MAX_VALUE
/** Requests to one mirror at a time: as many as browsers send to one server by HTTP/1.1. All but one are small. */
const MAX_REQUESTS = 6

/**
 * @typedef {object} DownloadTerms
 * @property {Iterable<MirrorLike> | AsyncIterable<MirrorLike>} from
 * @property {boolean} [anyBlob]  must mirrors be able to give any blob? Default: false
 * @property {number} parallel @property {number} retries @property {number} stall @property {number} maxDuplicates
 * @property {AbortSignal} signal
 * @property {DownloadProgress} progress
 * @property {Clock} clock
 */

/**
 * @typedef {object} Task  one request to a mirror
 * @property {() => Promise<void>} run  fails with what ends the download
 * @property {boolean} isSmall  is it for at most 1 MiB?
 */

/**
 * @typedef {object} Asked  what a mirror is asked for
 * @property {number} now
 * @property {number} mirrorCount  how many mirrors may be asked at once
 * @property {boolean} isIdle  does the mirror do nothing now?
 * @property {boolean} smallOnly  must the task be small?
 */

/**
 * @typedef {object} Work
 * @property {(mirrors: Health[]) => Promise<void>} refill  looks for what is to be done. Called before tasks are taken
 * @property {boolean} isDone
 * @property {(health: Health, asked: Asked) => Task | undefined} take  undefined when the mirror can do nothing now
 * @property {(mirrors: Health[], isOpen: boolean) => boolean} giveUp  gives up what no mirror can bring, or has it
 *   brought in the last way, unless more mirrors may come (`isOpen`). Has that changed what is to be done? Throws when
 *   the work has failed
 * @property {number} [wakeAt]  when to look for tasks again, by the clock of the download, even if nothing ends before
 */

export class Downloader {
  #terms
  #ended = new AbortController()
  #adding
  #duplicates
  /** The tasks of each mirror that is busy. @type {Map<Health, Set<Task>>} */
  #busy = new Map()
  #running = /** @type {Set<Promise<void>>} */ (new Set())
  /** What has ended the download, if it has failed. @type {{ error: unknown } | undefined} */
  #failure
  #wake = () => {}
  /** @type {Health[]} */
  mirrors = []
  /** May `from` give more mirrors? */
  #isOpen = true

  /** @param {DownloadTerms} terms */
  constructor (terms) {
    this.#terms = terms
    /** Aborts when the download ends, however that is. */
    this.signal = AbortSignal.any([terms.signal, this.#ended.signal])
    this.#duplicates = new Duplicates(terms.maxDuplicates)
    this.#adding = this.#addMirrors()
  }

  /**
   * Adds the mirror behind a URL that another mirror has named.
   *
   * @param {Mirror} from @param {URL} url @param {HttpOptions} http
   */
  addDuplicate (from, url, http) {
    const mirror = this.#duplicates.take(from, url, http, this.mirrors.map(({ mirror }) => mirror))
    if (mirror === undefined) return
    this.mirrors.push(new Health(mirror))
    this.#wake()
  }

  /** Does work until it is done. @param {Work} work */
  async run (work) {
    while (true) {
      const woken = new Promise(resolve => { this.#wake = () => resolve(undefined) })
      await work.refill(this.mirrors)
      this.#throwFailure()
      if (work.isDone) return
      const now = this.#terms.clock.now() // one time for both: a mirror is asked now, or waited for
      this.#giveTasks(work, now)
      if (!work.giveUp(this.mirrors, this.#isOpen)) await this.#wait(woken, now, work.wakeAt)
      this.#throwFailure()
    }
  }

  /** Ends what is under way, and waits for that. */
  async end () {
    this.#ended.abort(new DOMException('the download has ended', 'AbortError'))
    await Promise.allSettled(this.#running)
    await this.#adding
  }

  #throwFailure () {
    this.signal.throwIfAborted()
    if (this.#failure !== undefined) throw this.#failure.error
  }

  /** Adds mirrors as they come. */
  async #addMirrors () {
    try {
      for await (const from of abortable(this.#terms.from, this.#ended.signal)) {
        for (const mirror of mirrorsOf(from)) {
          if (this.#terms.anyBlob && !mirror.hasAnyBlob) {
            const message = `"from" expected mirrors of any blob: ${mirror.location} has one. Put {cid} into the URL`
            throw new TypeError(message)
          }
          this.mirrors.push(new Health(mirror))
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
   * Gives tasks to mirrors that are not busy: one to each in turn, first to those of which least is known, then to the
   * quickest.
   *
   * @param {Work} work @param {number} now
   */
  #giveTasks (work, now) {
    const { parallel } = this.#terms
    const usable = this.mirrors.filter(({ isUsable }) => isUsable)
    const ready = usable.filter(({ retryAt }) => retryAt <= now)
    ready.sort((a, b) => (b.rate || MAX_RATE) - (a.rate || MAX_RATE))
    for (let isGiven = true; isGiven;) {
      isGiven = false
      for (const health of ready) {
        const tasks = [...this.#busy.get(health) ?? []]
        if (tasks.length === 0 ? this.#busy.size >= parallel : tasks.length >= MAX_REQUESTS) continue
        const smallOnly = tasks.some(({ isSmall }) => !isSmall)
        const isIdle = tasks.length === 0
        const task = work.take(health, { now, mirrorCount: Math.min(usable.length, parallel), isIdle, smallOnly })
        if (task === undefined) continue
        this.#begin(health, task)
        isGiven = true
      }
    }
  }

  /** @param {Health} health @param {Task} task */
  #begin (health, task) {
    const tasks = this.#busy.get(health) ?? new Set()
    this.#busy.set(health, tasks.add(task))
    const running = task.run().catch(error => { this.#failure ??= { error } }).finally(() => {
      this.#running.delete(running)
      tasks.delete(task)
      if (tasks.size === 0) this.#busy.delete(health)
      this.#wake()
    })
    this.#running.add(running)
  }

  /**
   * Waits until a mirror has ended a task, may be asked again, or is added, and for the work until `wakeAt` at most.
   *
   * @param {Promise<unknown>} woken @param {number} now @param {number} [wakeAt]
   * @throws {import('../../lib/core/errors.js').BaoError} FETCH_EXHAUSTED when none of that can happen
   */
  async #wait (woken, now, wakeAt = Infinity) {
    const { clock } = this.#terms
    const retryTimes = this.mirrors.filter(({ isUsable }) => isUsable).map(({ retryAt }) => retryAt)
    const times = [...retryTimes, wakeAt].filter(time => time > now && time < Infinity)
    if (this.#busy.size === 0 && times.length === 0 && !this.#isOpen && this.#failure === undefined) {
      throw fetchExhausted(this.mirrors.flatMap(({ error }) => error ?? []))
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
