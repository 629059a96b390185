// Makes the `supply` of a store from mirrors.

import { CHUNK_LEN, DEFAULT_GROUP_LOG } from '../../lib/core/constants.js'
import { ByteQueue } from '../../lib/core/byte-queue.js'
import { assertInteger } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { Candidates } from '../../verifier/mirrors/candidate.js'
import { DEFAULT_STALL, MirrorBook } from '../../verifier/mirrors/mirror-book.js'
import { MirrorRequest } from '../../verifier/mirrors/mirror-request.js'
import { SliceVerifier } from '../../verifier/slice/slice.js'
import { mirrorsOf } from '../../verifier/mirrors/mirror.js'
import { parseRoot } from '../../lib/hash/cid.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { MirrorLike } from '../../verifier/mirrors/mirror.js' */

/** The maximum number of bytes that are fetched in one call. `download` fetches more. */
const MAX_LEN = 1 << 26

/**
 * Makes the `supply` of a store from mirrors. The mirrors are asked one after the other, each of them once, beginning
 * with the last one that has helped. Slices are verified in memory before the store gets them.
 *
 *     const store = await BlobStore.open(directory, { supply: fromMirrors(['https://example.org/blobs/{cid}']) })
 *
 * @param {Iterable<MirrorLike>} mirrors  as `mirrorOf` takes them. URLs need `{cid}` or `{hex}` in them, unless the
 *   store has only one blob
 * @param {{ stall?: number }} [options]  `stall`: milliseconds within which a mirror must send 16 KiB; default: 15 000
 * @returns {(cid: CID, ranges: ChunkRanges, options?: { size?: number, signal?: AbortSignal }) => Promise<Uint8Array>}
 *   returns a slice. It throws FETCH_EXHAUSTED, and a RangeError for more than 64 MiB
 */
export function fromMirrors (mirrors, options = {}) {
  assertKnownOptions(options, ['stall'])
  const { stall = DEFAULT_STALL } = options
  assertInteger('stall', stall, 1)
  const list = [...mirrors].flatMap(mirror => mirrorsOf(mirror))
  return async (cid, ranges, { size, signal } = {}) => {
    const root = parseRoot(cid)
    const chunks = [...ranges].reduce((sum, [start, end]) => sum + end - start, 0)
    if (chunks * CHUNK_LEN > MAX_LEN) {
      throw new RangeError(`"ranges" expected at most ${MAX_LEN} bytes: use download() for more`)
    }
    const book = new MirrorBook({ retries: 0, stall, maxDuplicates: 0 })
    for (const mirror of list) book.add(mirror)
    const candidates = new Candidates(book)
    while (true) {
      const candidate = await book.next(candidates.all.filter(({ error }) => error === undefined), signal)
      if (candidate === undefined) throw candidates.makeExhaustedError()
      const request = new MirrorRequest(book, candidate, signal)
      try {
        const slice = await verifiedSlice(request, { root, ranges, size })
        list.sort((a, b) => Number(b === candidate.mirror) - Number(a === candidate.mirror))
        return slice
      } catch (error) {
        signal?.throwIfAborted()
        request.failed(error, ranges)
      }
    }
  }
}

/**
 * @param {MirrorRequest} request @param {{ root: Uint8Array, ranges: ChunkRanges, size?: number }} wanted
 * @returns {Promise<Uint8Array>} the slice with its header, when all of it has been verified
 */
async function verifiedSlice (request, { root, ranges, size }) {
  const verifier = new SliceVerifier({ cid: root, ranges, onLeaf: () => {} })
  const slice = new ByteQueue()
  for await (const piece of request.slice({ root, ranges, groupLog: DEFAULT_GROUP_LOG, size })) {
    verifier.write(piece)
    slice.push(piece, Infinity)
    if (verifier.error !== undefined) throw verifier.error
    if (verifier.done) break
  }
  verifier.end()
  return slice.bytes
}
