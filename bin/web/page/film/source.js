// Fetches the film from all hosts at the same time, a short part from each, and verifies every part as it arrives. What
// a host sends wrong, late or not at all is asked of the others. `slice` is a `supply` for a store.

import { ChunkRanges, ENTER, LEAF, chunkCount, parseRoot, walk } from '../../../../lib/index.js'
import { eitherOf, untilAborted } from '../../../../lib/source/async-util.js'
import { Outboard } from '../../../../encoder/index.js'
import { mirrorOf, validOutboardRanges, verifyStream } from '../../../../verifier/index.js'
import { FILM, FILM_LEN } from './facts.js'

/** @import { ByteRange } from '../../../../lib/index.js' */
/** @import { Mirror } from '../../../../verifier/index.js' */

/**
 * What has happened with bytes from a host. `arrived`: they are right. `refused`: they are wrong. `late`: they did not
 * come in time. `absent`: the host did not answer.
 *
 * @typedef {object} FilmEvent
 * @property {'arrived' | 'refused' | 'late' | 'absent'} type
 * @property {string} host
 * @property {number} start  byte of the film
 * @property {number} end
 * @property {string} [code]  of the error
 * @property {string} [message]
 */
/** @typedef {{ name: string, mirror: Mirror, restsUntil: number }} Host */

const root = parseRoot(FILM)
const GROUP_LOG = 4
const GROUP_LEN = 1 << 14
/** One request to a host. */
const PART_LEN = 4 * GROUP_LEN
const DEFAULT_PATIENCE = 3000
/** A host that has failed is not asked for so many times the patience. */
const REST = 2

export class FilmSource {
  #urls
  #onEvent
  #patience
  /** The tree of the film, once a host has sent it. @type {{ outboard: Outboard, hosts: Host[] } | undefined} */
  #found

  /**
   * @param {{ name: string, url: string }[]} hosts @param {(event: FilmEvent) => void} onEvent
   * @param {{ patience?: number }} [options]  milliseconds that a host may take for 16 KiB. Default: 3000
   */
  constructor (hosts, onEvent, { patience = DEFAULT_PATIENCE } = {}) {
    this.#urls = hosts
    this.#onEvent = onEvent
    this.#patience = patience
  }

  /**
   * Gives the slice of the film that a store lacks, piece by piece, as `supply` does.
   *
   * @param {unknown} cid  the only blob is the film
   * @param {ChunkRanges} ranges @param {{ signal: AbortSignal }} options
   */
  slice = async (cid, ranges, { signal }) => {
    while (this.#found === undefined) await this.#find(signal)
    return this.#pieces(this.#found.outboard, this.#found.hosts, ranges, signal)
  }

  /** @param {Outboard} outboard @param {Host[]} hosts @param {ChunkRanges} ranges @param {AbortSignal} outer */
  async * #pieces (outboard, hosts, ranges, outer) {
    const end = new AbortController()
    const signal = eitherOf(outer, end.signal)
    const fetching = new Fetching(partsOf(ranges))
    outer.throwIfAborted() // A signal that is aborted already has no event.
    signal.addEventListener('abort', () => fetching.fail(signal.reason))
    for (const host of hosts) this.#fetchFrom(host, fetching, signal).catch(error => fetching.fail(error))
    try {
      const header = new Uint8Array(8)
      new DataView(header.buffer).setUint32(0, FILM_LEN, true)
      yield header
      for (const step of walk(FILM_LEN, GROUP_LOG, ranges)) {
        if (step.kind === ENTER) yield /** @type {Uint8Array} */ (outboard.pair(step.node))
        if (step.kind === LEAF) yield await fetching.leaf(step.start)
      }
    } finally {
      end.abort(new Error('the slice has ended'))
    }
  }

  /**
   * Fetches one part after the other from a host, until all have arrived.
   *
   * @param {Host} host @param {Fetching} fetching @param {AbortSignal} signal
   */
  async #fetchFrom (host, fetching, signal) {
    while (!signal.aborted && !fetching.isDone) {
      const rest = host.restsUntil - performance.now()
      const part = rest > 0 ? undefined : fetching.take()
      if (part === undefined) {
        await fetching.changed(rest > 0 ? rest : undefined)
        continue
      }
      const missing = await this.#fetchPart(host, part, fetching, signal)
      if (missing.start < missing.end) fetching.giveBack(missing)
    }
  }

  /**
   * @param {Host} host @param {ByteRange} part @param {Fetching} fetching @param {AbortSignal} outer
   * @returns {Promise<ByteRange>} what has not arrived
   */
  async #fetchPart (host, { start, end }, fetching, outer) {
    const late = new AbortController()
    const signal = eitherOf(outer, late.signal)
    const giveUp = () => late.abort(new Error(`nothing came for ${this.#patience / 1000} seconds`))
    const wait = () => setTimeout(giveUp, this.#patience)
    let timer = wait()
    try {
      const ranges = ChunkRanges.fromBytes(start, end)
      const pieces = host.mirror.pieces({ root, ranges, groupLog: GROUP_LOG, size: FILM_LEN }, signal)
      for await (const { offset, bytes } of verifyStream(pieces, { cid: FILM, ranges, release: 'leaf', signal })) {
        clearTimeout(timer)
        timer = wait()
        start = offset + bytes.length
        fetching.arrived(offset, bytes)
        this.#onEvent({ type: 'arrived', host: host.name, start: offset, end: start })
      }
    } catch (thrown) {
      if (outer.aborted) return { start, end }
      host.restsUntil = performance.now() + REST * this.#patience
      const { code = '', message } = /** @type {Error & { code?: string }} */ (thrown)
      const isWrong = /^BAO_(LEAF|PARENT)_MISMATCH$/.test(code)
      const type = late.signal.aborted ? 'late' : isWrong ? 'refused' : 'absent'
      this.#onEvent({ type, host: host.name, start, end: Math.min(start + GROUP_LEN, FILM_LEN), code, message })
    } finally {
      clearTimeout(timer)
    }
    return { start, end }
  }

  /** Asks one host after the other for the tree of the film. @param {AbortSignal} outer */
  async #find (outer) {
    for (const { name, url } of this.#urls) {
      const signal = eitherOf(outer, AbortSignal.timeout(this.#patience))
      try {
        const response = await fetchNow(`${url}.obao4`, { signal })
        const outboard = Outboard.from({
          cid: FILM, size: FILM_LEN, bytes: new Uint8Array(await response.arrayBuffer())
        })
        const valid = await validOutboardRanges(outboard)
        if (!valid.contains(0, chunkCount(FILM_LEN))) throw new Error('the tree does not lead to the name')
        const hosts = this.#urls.map(({ name, url }) =>
          ({ name, mirror: mirrorOf({ source: url, outboard }, { fetch: fetchNow }), restsUntil: 0 }))
        this.#found = { outboard, hosts }
        return
      } catch (error) {
        outer.throwIfAborted()
        const { message } = /** @type {Error} */ (error)
        this.#onEvent({ type: signal.aborted ? 'late' : 'absent', host: name, start: 0, end: 0, message })
      }
    }
    await untilAborted(new Promise(resolve => setTimeout(resolve, this.#patience)), outer)
  }
}

/**
 * Fetches without the cache of the browser, in which a request for a file waits for others for the same file.
 *
 * @type {typeof fetch}
 */
const fetchNow = (input, init) => fetch(input, { ...init, cache: 'no-store' })

/** The parts of one slice: which are to be fetched, and the verified groups that have arrived. */
class Fetching {
  #parts
  #leaves = /** @type {Map<number, Uint8Array>} */ (new Map())
  #error = /** @type {unknown} */ (undefined)
  #left
  /** Called at every change. @type {Set<() => void>} */
  #waiting = new Set()

  /** @param {ByteRange[]} parts  in increasing order */
  constructor (parts) {
    this.#parts = parts
    this.#left = parts.reduce((sum, { start, end }) => sum + end - start, 0)
  }

  get isDone () { return this.#left === 0 }

  /** The next part to fetch. @returns {ByteRange | undefined} */
  take () { return this.#parts.shift() }

  /** @param {ByteRange} part */
  giveBack (part) {
    this.#parts.unshift(part)
    this.#parts.sort((a, b) => a.start - b.start)
    this.#wake()
  }

  /**
   * Takes verified groups: several, if their bytes have come together.
   *
   * @param {number} offset @param {Uint8Array} bytes
   */
  arrived (offset, bytes) {
    for (let at = 0; at < bytes.length; at += GROUP_LEN) {
      this.#leaves.set(offset + at, bytes.subarray(at, at + GROUP_LEN))
    }
    this.#left -= bytes.length
    this.#wake()
  }

  /** @param {unknown} error */
  fail (error) {
    this.#error = error
    this.#wake()
  }

  /** Waits for the group that begins at an offset. @param {number} offset */
  async leaf (offset) {
    while (!this.#leaves.has(offset)) {
      if (this.#error !== undefined) throw this.#error
      await this.changed()
    }
    const bytes = /** @type {Uint8Array} */ (this.#leaves.get(offset))
    this.#leaves.delete(offset)
    return bytes
  }

  /** Resolves at the next change, or after a time. @param {number} [ms] */
  changed (ms) {
    return new Promise(resolve => {
      const timer = ms === undefined ? undefined : setTimeout(() => wake(), ms)
      const wake = () => {
        clearTimeout(timer)
        this.#waiting.delete(wake)
        resolve(undefined)
      }
      this.#waiting.add(wake)
    })
  }

  #wake () {
    for (const wake of this.#waiting) wake()
  }
}

/** Cuts ranges into parts of at most `PART_LEN` bytes. @param {ChunkRanges} ranges @returns {ByteRange[]} */
function partsOf (ranges) {
  const parts = []
  for (let { start, end } of ranges.canonical(FILM_LEN).roundToGroups(GROUP_LOG).toBytes(FILM_LEN)) {
    for (; start < end; start += PART_LEN) parts.push({ start, end: Math.min(start + PART_LEN, end) })
  }
  return parts
}
