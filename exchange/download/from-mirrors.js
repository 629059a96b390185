// Makes the `supply` of a store from mirrors.

import { DEFAULT_GROUP_LOG } from '../../lib/core/constants.js'
import { ByteQueue } from '../../lib/core/byte-queue.js'
import { assertInteger } from '../../lib/core/bytes.js'
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
/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { Mirror, MirrorLike } from '../../verifier/mirrors/mirror.js' */

/** @typedef {{ size?: number, hops?: number, signal?: AbortSignal }} WantedOptions  as a store passes them */
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
 * @param {{ stall?: number }} [options]  `stall`: milliseconds within which a mirror must send 16 KiB; default: 15 000
 * @returns {(cid: CID, ranges: ChunkRanges, options?: WantedOptions) =>
 *   Promise<AsyncGenerator<Uint8Array> | undefined>} returns a slice, piece by piece; undefined if every mirror says
 *   that it lacks the blob, or this part of it. It throws FETCH_EXHAUSTED
 */
export function fromMirrors (mirrors, options = {}) {
  assertKnownOptions(options, ['stall'])
  const { stall = DEFAULT_STALL } = options
  assertInteger('stall', stall, 1)
  const list = [...mirrors].flatMap(mirror => mirrorsOf(mirror))
  /** @param {Mirror} mirror @param {number} place  -1 to ask the mirror first from now on, 1 to ask it last */
  const move = (mirror, place) => list.sort((a, b) => place * (Number(a === mirror) - Number(b === mirror)))
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
      const request = new MirrorRequest(book, candidate, signal)
      const pieces = toldPieces(verifiedPieces(request, wanted), () => move(candidate.mirror, 1))
      try {
        const head = await pieces.next()
        move(candidate.mirror, -1)
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
 * @returns {AsyncGenerator<Uint8Array, void>}
 */
async function * verifiedPieces (request, wanted) {
  let hasLeaf = false
  const { root: cid, ranges } = wanted
  const verifier = new SliceVerifier({ cid, ranges, onLeaf: () => { hasLeaf = true } })
  /** What was not yielded yet. */
  const head = new ByteQueue()
  for await (const piece of request.slice({ ...wanted, groupLog: DEFAULT_GROUP_LOG })) {
    verifier.write(piece)
    if (verifier.error !== undefined) throw verifier.error
    const isNext = hasLeaf && head.len === 0
    if (!isNext) head.push(piece, MAX_HEAD_LEN)
    if (hasLeaf) yield isNext ? piece : head.bytes
    if (hasLeaf) head.clear()
    if (verifier.done) break
  }
  verifier.end()
  if (head.len > 0) yield head.bytes
}

/**
 * Yields pieces. If they fail after the first one, it says so.
 *
 * @param {AsyncGenerator<Uint8Array, void>} pieces @param {() => void} onFailure
 * @returns {AsyncGenerator<Uint8Array, void>}
 */
async function * toldPieces (pieces, onFailure) {
  let hasBegun = false
  try {
    for await (const piece of pieces) {
      hasBegun = true
      yield piece
    }
  } catch (error) {
    if (hasBegun) onFailure()
    throw error
  }
}
