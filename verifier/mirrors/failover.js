// Reads verified bytes from several mirrors, one at a time. If one mirror fails, the next one continues from there.

import { CHUNK_LEN } from '../../lib/core/constants.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { Candidates } from './candidate.js'
import { MirrorRequest } from './mirror-request.js'
import { SliceVerifier } from '../slice/slice.js'
import { SpanVerifier } from './plain/span-verifier.js'
import { verifyPieces } from '../slice/pieces.js'

/** @import { Leaf } from '../slice/leaves.js' */
/** @import { MirrorBook } from './mirror-book.js' */

/** @typedef {{ root: Uint8Array, groupLog: number, key?: Uint8Array, signal?: AbortSignal }} ReadOptions */

export class FailoverReader {
  #book
  #candidates
  #options
  /** The size of the blob in bytes; undefined until the last chunk has proven it. @type {number | undefined} */
  size

  /** @param {MirrorBook} book @param {ReadOptions} options */
  constructor (book, options) {
    this.#book = book
    this.#candidates = new Candidates(book)
    this.#options = options
  }

  /**
   * Yields the verified leaves of some ranges.
   *
   * @param {ChunkRanges} ranges  whole groups, or the last chunk
   * @returns {AsyncGenerator<Leaf>}
   * @throws {import('../../lib/core/errors.js').BaoError} the error of the only mirror; if there are several,
   *   FETCH_EXHAUSTED, whose `cause` is an AggregateError
   */
  async * leaves (ranges) {
    const { signal } = this.#options
    for (let left = ranges; !left.isEmpty;) {
      const request = new MirrorRequest(this.#book, await this.#next(left), signal)
      const { candidate } = request
      const [lacking = Infinity] = candidate.lacks.intersect(left).boundaries
      const asked = lacking === Infinity ? left : left.difference(new ChunkRanges([lacking]))
      try {
        for await (const leaf of this.#ask(request, asked)) {
          // A leaf may end inside a chunk. The next leaf then has its rest, and no failure comes between the two.
          const end = leaf.offset + leaf.bytes.length
          left = left.difference(new ChunkRanges([0, Math.max(1, Math.ceil(end / CHUNK_LEN))]))
          candidate.progressed()
          yield leaf
        }
        left = left.difference(asked)
      } catch (error) {
        signal?.throwIfAborted()
        request.failed(error, asked)
      }
    }
  }

  /**
   * The size of the blob, proven by its last chunk.
   *
   * @returns {Promise<number>}
   * @throws {import('../../lib/core/errors.js').BaoError} the errors of `leaves`
   */
  async provenSize () {
    if (this.size === undefined) {
      const leaves = this.leaves(ChunkRanges.last)
      while (!(await leaves.next()).done);
    }
    return /** @type {number} */ (this.size)
  }

  /**
   * Yields the verified leaves that a single mirror gives.
   *
   * @param {MirrorRequest} request @param {ChunkRanges} ranges
   */
  async * #ask (request, ranges) {
    const { root, groupLog, key } = this.#options
    const { outboard, pieces } = await request.open({ root, ranges, groupLog, key, size: this.size })
    const verifier = outboard === undefined
      ? new SliceVerifier({ cid: root, ranges, groupLog, key })
      : new SpanVerifier({ cid: root, ranges, outboard, key })
    for await (const leaf of verifyPieces(verifier, pieces)) {
      if (verifier.sizeProven) this.size = verifier.size
      yield leaf
    }
    if (verifier.sizeProven) this.size = verifier.size
  }

  /** Waits until a mirror may be asked for some ranges, and returns it. @param {ChunkRanges} ranges */
  async #next ({ boundaries: [first] }) {
    const candidates = this.#candidates.all.filter(({ lacks }) => !lacks.has(first))
    const next = await this.#book.next(candidates, this.#options.signal)
    if (next !== undefined) return next
    const { errors } = this.#candidates
    throw this.#book.records.length === 1 && errors.length === 1
      ? errors[0]
      : this.#candidates.makeExhaustedError()
  }
}
