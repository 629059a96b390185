// The promises of a store at a moment of its life, while jobs are under way. It is told of every job that begins
// and ends: by the process with the jobs, or by the marks of this process in the journal of its disk.
import { GROUP } from '../../support/constants.js'

/** Parts that are received: all, the first half, a stripe. */
export const PARTS = [
  size => ({ start: 0, end: size }),
  size => ({ start: 0, end: Math.min(Math.ceil(size / 2 / GROUP) * GROUP, size) }),
  size => ({ start: Math.floor(size / 3 / GROUP) * GROUP, end: size })
]

/** Jobs that keep a blob as a whole, or nothing of it. */
const PUTS = ['put', 'splice', 'putMany']

/**
 * No two jobs on the same blob are under way.
 *
 * @typedef {{ what: string, blobs: number[], tag?: string, from?: string, part?: number, holds?: number[] }} Job
 *   `holds`: other blobs that no garbage collection deletes during the job
 */

class Promised {
  tag = /** @type {string | undefined} */ (undefined)
  /** When its current tag was set; it has had a tag since then. */
  taggedSince = Infinity
  /** Bytes that must all be present. */
  ranges = /** @type {{ start: number, end: number }[]} */ ([])
  isGone = true
  /** When the last job on this blob began or ended. */
  touched = 0
}

export class Promises {
  #blobOf
  #blobs = /** @type {Map<number, Promised>} */ (new Map())
  #jobs = /** @type {Map<number, Job & { began: number }>} */ (new Map())
  #time = 0

  /** @param {(i: number) => Uint8Array} blobOf */
  constructor (blobOf) {
    this.#blobOf = blobOf
  }

  /** @param {string} mark  as the working process writes them */
  read (mark) {
    const [what, number] = mark.split(' ', 2)
    if (what === 'begin') this.begin(Number(number), JSON.parse(mark.slice(what.length + number.length + 2)))
    else this.end(Number(number))
  }

  /** @param {number} number @param {Job} job */
  begin (number, job) {
    const began = ++this.#time
    this.#jobs.set(number, { ...job, began })
    for (const i of job.blobs) {
      const blob = this.#blob(i)
      blob.touched = began
      if (job.what === 'untag') blob.taggedSince = Infinity
    }
    for (const i of job.holds ?? []) this.#blob(i).touched = began
  }

  /** @param {number} number */
  end (number) {
    const job = /** @type {Job & { began: number }} */ (this.#jobs.get(number))
    this.#jobs.delete(number)
    const time = ++this.#time
    if (job.what === 'gc') return this.#collected(job.began)
    for (const i of job.holds ?? []) this.#blob(i).touched = time
    for (const i of job.blobs) {
      const blob = this.#blob(i)
      blob.touched = time
      const len = this.#blobOf(i).length
      if (PUTS.includes(job.what)) this.#keep(blob, PARTS[0](len))
      if (job.what === 'receive') this.#keep(blob, PARTS[/** @type {number} */ (job.part)](len))
      if (job.what.startsWith('delete')) this.#forget(blob)
      if (job.tag !== undefined) {
        if (blob.tag === undefined) blob.taggedSince = time
        blob.tag = job.tag
      }
      if (job.what === 'untag') blob.tag = undefined
    }
  }

  get underWay () { return [...this.#jobs.values()] }

  /** @param {number} i */
  tagOf (i) { return this.#blob(i).tag }

  /** @param {number} i @param {string} names  of its tags */
  mayHaveTags (i, names) {
    const { tag = '' } = this.#blob(i)
    const job = this.#jobOn(i)
    return names === tag || (job?.tag !== undefined && names === job.tag) || (job?.what === 'untag' && names === '')
  }

  /** True if nothing of a blob may be present. @param {number} i */
  isGone (i) { return this.#blob(i).isGone && ![...PUTS, 'receive'].includes(this.#jobOn(i)?.what ?? '') }

  /** The bytes of a blob that must be present. @param {number} i */
  rangesOf (i) {
    const blob = this.#blob(i)
    if (this.#jobOn(i)?.what.startsWith('delete')) return []
    const isSafe = this.underWay.every(({ what, began }) => what !== 'gc' || blob.taggedSince < began)
    return isSafe ? blob.ranges : []
  }

  /** @param {number} i */
  #jobOn (i) { return this.underWay.find(({ blobs }) => blobs.includes(i)) }

  /** Notes a garbage collection: unprotected blobs are gone; blobs of jobs during it may be. @param {number} began */
  #collected (began) {
    for (const [i, blob] of this.#blobs) {
      if (blob.taggedSince < began) continue
      blob.ranges = []
      const isHeld = this.underWay.some(({ holds }) => holds?.includes(i))
      if (blob.touched < began && this.#jobOn(i) === undefined && !isHeld) this.#forget(blob)
    }
  }

  /** @param {Promised} blob @param {{ start: number, end: number }} range */
  #keep (blob, range) {
    blob.ranges.push(range)
    blob.isGone = false
  }

  /** @param {Promised} blob */
  #forget (blob) {
    blob.ranges = []
    blob.isGone = true
  }

  /** @param {number} i */
  #blob (i) {
    if (!this.#blobs.has(i)) this.#blobs.set(i, new Promised())
    return /** @type {Promised} */ (this.#blobs.get(i))
  }
}
