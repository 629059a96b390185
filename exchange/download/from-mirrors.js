// Makes the `supply` of a store from mirrors.

import { DEFAULT_GROUP_LOG } from '../../lib/core/constants.js'
import { ByteQueue } from '../../lib/core/byte-queue.js'
import { assertInteger, describe } from '../../lib/core/bytes.js'
import { BaoError } from '../../lib/core/errors.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { Candidates } from '../../verifier/mirrors/candidate.js'
import { DEFAULT_STALL, MirrorBook } from '../../verifier/mirrors/mirror-book.js'
import { MirrorRequest } from '../../verifier/mirrors/mirror-request.js'
import { SliceVerifier } from '../../verifier/slice/slice.js'
import { mirrorsOf } from '../../verifier/mirrors/mirror.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { withFirst } from '../../lib/source/async-util.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { ByteRange, ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { Mirror, MirrorLike } from '../../verifier/mirrors/mirror.js' */
/** @import { SupplyOptions } from '../../store/index.js' */

/**
 * @typedef {object} MirrorRequestEvent  a request to a mirror that has ended
 * @property {string} mirror  its name, usually an origin
 * @property {CID} cid  of the blob
 * @property {ByteRange[]} ranges  the bytes that the mirror has sent and that were verified, in increasing order
 * @property {Error & Partial<BaoError>} [error]  why the request failed. For wrong bytes, its `start` says where they
 *   are. Without it, the mirror has sent everything, or nobody wanted the rest
 */
/**
 * @typedef {object} FromMirrorsOptions
 * @property {number} [stall]  milliseconds within which a mirror must send 16 KiB. Default: 15000
 * @property {(event: MirrorRequestEvent) => void} [onRequest]  called when a request to a mirror has ended. Its errors
 *   are ignored
 */
/** @typedef {Partial<Pick<SupplyOptions, 'size' | 'hops' | 'signal'>>} WantedOptions  as a store passes them */
/** @typedef {{ root: Uint8Array, ranges: ChunkRanges, size?: number, hops?: number }} Wanted */

/** How many bytes the queue for what comes before the first verified leaf may reserve in advance. */
const MAX_HEAD_LEN = 1 << 18

/**
 * Makes the `supply` of a store from mirrors. It asks the mirrors in turn, each once, the last helpful one first, until
 * one gives a verified leaf. If the slice fails after that, its mirror goes last, and the store asks for the rest
 * again.
 *
 *     const store = await BlobStore.open(directory, { supply: fromMirrors(['https://example.org/blobs/{cid}']) })
 *
 * @param {Iterable<MirrorLike>} mirrors  as `mirrorOf` takes them. URLs need `{cid}` or `{hex}` in them, unless the
 *   store has only one blob
 * @param {FromMirrorsOptions} [options]
 * @returns {(cid: CID, ranges: ChunkRanges, options?: WantedOptions) =>
 *   Promise<AsyncGenerator<Uint8Array> | undefined>} returns a slice, piece by piece; undefined if every mirror says
 *   that it lacks the blob, or this part of it. It throws FETCH_EXHAUSTED
 */
export function fromMirrors (mirrors, options = {}) {
  assertKnownOptions(options, ['stall', 'onRequest'])
  const { stall = DEFAULT_STALL, onRequest } = options
  assertInteger('stall', stall, 1)
  if (onRequest !== undefined && typeof onRequest !== 'function') {
    throw new TypeError(`"onRequest" expected a function, got ${describe(onRequest)}`)
  }
  if (typeof mirrors !== 'object' || mirrors === null || !(Symbol.iterator in mirrors)) {
    throw new TypeError(`"mirrors" expected an array or another iterable of mirrors, got ${describe(mirrors)}`)
  }
  let list = [...mirrors].flatMap(mirror => mirrorsOf(mirror))
  const without = (/** @type {Mirror} */ mirror) => list.filter(other => other !== mirror)
  const askFirst = (/** @type {Mirror} */ mirror) => { list = [mirror, ...without(mirror)] }
  const askLast = (/** @type {Mirror} */ mirror) => { list = [...without(mirror), mirror] }
  return async (cid, ranges, { size, hops, signal } = {}) => {
    const wanted = { root: parseRoot(cid), ranges, size, hops }
    const book = new MirrorBook({ retries: 0, stall, maxDuplicates: 0 })
    for (const mirror of list) book.add(mirror)
    const candidates = new Candidates(book)
    while (true) {
      const candidate = await book.next(candidates.all.filter(({ error }) => error === undefined), signal)
      if (candidate === undefined) {
        const { errors } = candidates
        if (errors.length > 0 && errors.every(isLack)) return undefined
        throw candidates.makeExhaustedError()
      }
      const { mirror } = candidate
      const request = new MirrorRequest(book, candidate, signal)
      const pieces = verifiedPieces(request, wanted, (ranges, thrown) => {
        const error = signal?.aborted ? undefined : thrown
        if (error !== undefined && ranges.length > 0) askLast(mirror)
        try {
          onRequest?.({ mirror: mirror.location, cid, ranges, ...error !== undefined && { error } })
        } catch {} // an error of the caller's log must not break reads
      })
      try {
        const head = await pieces.next()
        askFirst(mirror)
        return withFirst(head, pieces)
      } catch (error) {
        signal?.throwIfAborted()
        request.failed(error, ranges)
      }
    }
  }
}

/** True if an error says that a mirror lacks a blob, or a part of it. @param {unknown} error */
const isLack = error => error instanceof BaoError && (['STORE_NOT_FOUND', 'STORE_MISSING'].includes(error.code) ||
  (error.code === 'FETCH_STATUS' && [404, 410].includes(error.status ?? 0)))

/**
 * Yields a slice with its header. The first piece is everything up to the first verified leaf. A piece in which a fault
 * is found is not yielded.
 *
 * @param {MirrorRequest} request @param {Wanted} wanted
 * @param {(ranges: ByteRange[], error?: Error) => void} onEnd  called once, with the verified bytes
 * @returns {AsyncGenerator<Uint8Array, void>}
 */
async function * verifiedPieces (request, wanted, onEnd) {
  const { root: cid, ranges } = wanted
  const verified = /** @type {ByteRange[]} */ ([])
  const verifier = new SliceVerifier({ cid, ranges, onLeaf: (start, { length }) => append(verified, start, length) })
  /** What was not yielded yet. */
  const head = new ByteQueue()
  let error
  try {
    for await (const piece of request.slice({ ...wanted, groupLog: DEFAULT_GROUP_LOG })) {
      verifier.write(piece)
      if (verifier.error !== undefined) throw verifier.error
      const hasLeaf = verified.length > 0
      const isNext = hasLeaf && head.len === 0
      if (!isNext) head.push(piece, MAX_HEAD_LEN)
      if (hasLeaf) yield isNext ? piece : head.bytes
      if (hasLeaf) head.clear()
      if (verifier.done) break
    }
    verifier.end()
    if (head.len > 0) yield head.bytes
  } catch (thrown) {
    error = thrown instanceof Error ? thrown : new Error(String(thrown))
    throw thrown
  } finally {
    onEnd(verified, error)
  }
}

/** Adds bytes to the end of ranges. @param {ByteRange[]} ranges @param {number} start @param {number} len */
function append (ranges, start, len) {
  const last = ranges.at(-1)
  if (last?.end === start) last.end += len
  else ranges.push({ start, end: start + len })
}
