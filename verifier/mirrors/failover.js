// Reads verified bytes from several mirrors, one at a time: where one mirror fails, the next one goes on.

import { CHUNK_LEN } from '../../lib/core/constants.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { DEFAULT_MAX_DUPLICATES, Duplicates } from './duplicates.js'
import { Health } from './health.js'
import { Supply } from './supply.js'
import { SliceVerifier } from '../slice/slice.js'
import { fetchExhausted } from '../../lib/core/errors.js'
import { systemClock, withPatience } from './patience.js'
import { verifyPieces } from '../slice/pieces.js'

/** @import { Clock } from './patience.js' */
/** @import { Leaf } from '../slice/leaves.js' */
/** @import { HttpOptions } from '../sources/http/options.js' */
/** @import { Mirror } from './mirror.js' */

/**
 * @typedef {object} TryOptions
 * @property {number} [retries]  how often a mirror is asked again after failures in a row; default: 3
 * @property {number} [stall]  milliseconds in which 16 KiB must come; default: 15 000
 * @property {number} [maxDuplicates]  how many mirrors the servers may add to those of the caller, by
 *   `Link: <...>; rel=duplicate` (RFC 6249); default: 4, 0 for none
 */

export const TRY_OPTIONS = ['retries', 'stall', 'maxDuplicates']
export const DEFAULT_RETRIES = 3
export const DEFAULT_STALL = 15_000

/**
 * @typedef {object} FailoverOptions
 * @property {Uint8Array} root @property {number} groupLog @property {Uint8Array} [key]
 * @property {AbortSignal} [signal] @property {Clock} [clock]
 */

export class FailoverReader {
  #mirrors
  #options
  #duplicates
  /** Bytes of the blob, once the last chunk has proven them. @type {number | undefined} */
  size

  /** @param {Mirror[]} mirrors @param {FailoverOptions & TryOptions} options */
  constructor (mirrors, options) {
    const { retries = DEFAULT_RETRIES, stall = DEFAULT_STALL, clock = systemClock } = options
    this.#duplicates = new Duplicates(options.maxDuplicates ?? DEFAULT_MAX_DUPLICATES)
    this.#mirrors = mirrors.map(mirror => new Supply(new Health(mirror)))
    this.#options = { ...options, retries, stall, clock }
  }

  /**
   * The verified leaves of some ranges.
   *
   * @param {ChunkRanges} ranges  whole groups, or the last chunk
   * @returns {AsyncGenerator<Leaf>}
   * @throws {import('../../lib/core/errors.js').BaoError} what the only mirror has failed with; of several,
   *   FETCH_EXHAUSTED, whose `cause` is an AggregateError
   */
  async * leaves (ranges) {
    const { retries, clock, signal } = this.#options
    for (let left = ranges; !left.isEmpty;) {
      const supply = await this.#next(left)
      const [lacking = Infinity] = supply.lacks.intersect(left).boundaries
      const asked = lacking === Infinity ? left : left.difference(new ChunkRanges([lacking]))
      try {
        for await (const leaf of this.#ask(supply.mirror, asked)) {
          const end = leaf.offset + leaf.bytes.length
          left = left.difference(new ChunkRanges([0, Math.max(1, Math.ceil(end / CHUNK_LEN))]))
          supply.progressed()
          yield leaf
        }
        left = left.difference(asked)
      } catch (error) {
        signal?.throwIfAborted()
        supply.failed(error, asked, { retries, now: clock.now() })
      }
    }
  }

  /**
   * Bytes of the blob, proven by its last chunk.
   *
   * @returns {Promise<number>}
   * @throws {import('../../lib/core/errors.js').BaoError} as `leaves`
   */
  async provenSize () {
    if (this.size === undefined) {
      const leaves = this.leaves(ChunkRanges.last)
      while (!(await leaves.next()).done);
    }
    return /** @type {number} */ (this.size)
  }

  /** The verified leaves that one mirror gives. @param {Mirror} mirror @param {ChunkRanges} ranges */
  async * #ask (mirror, ranges) {
    const { root, groupLog, key, clock, stall, signal } = this.#options
    const onDuplicate = (/** @type {URL} */ url, /** @type {HttpOptions} */ http) => {
      const named = this.#duplicates.take(mirror, url, http, this.#mirrors.map(({ mirror }) => mirror))
      if (named !== undefined) this.#mirrors.push(new Supply(new Health(named)))
    }
    const what = { root, ranges, groupLog, key, size: this.size, onDuplicate }
    const verifier = new SliceVerifier({ cid: root, ranges, groupLog, key })
    const { location } = mirror
    const open = (/** @type {AbortSignal} */ signal) => mirror.pieces(what, signal)
    for await (const leaf of verifyPieces(verifier, withPatience(open, { location, stall, clock, signal }))) {
      if (verifier.sizeProven) this.size = verifier.size
      yield leaf
    }
    if (verifier.sizeProven) this.size = verifier.size
  }

  /**
   * The mirror to ask next for some ranges, when it may be asked.
   *
   * @param {ChunkRanges} ranges
   * @returns {Promise<Supply>}
   */
  async #next (ranges) {
    const { clock, signal } = this.#options
    signal?.throwIfAborted()
    const first = ranges.boundaries[0]
    const usable = this.#mirrors.filter(({ isUsable, lacks }) => isUsable && !lacks.has(first))
    const [next] = usable.sort((a, b) => a.health.retryAt - b.health.retryAt)
    if (next === undefined) {
      const errors = this.#mirrors.flatMap(({ error }) => error ?? [])
      throw this.#mirrors.length === 1 && errors.length === 1 ? errors[0] : fetchExhausted(errors)
    }
    const wait = next.health.retryAt - clock.now()
    if (wait > 0) await clock.sleep(wait, signal)
    return next
  }
}
