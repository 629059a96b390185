// Makes the `heal` of a store from mirrors.

import { CHUNK_LEN, DEFAULT_GROUP_LOG } from '../../lib/core/constants.js'
import { ByteQueue } from '../../lib/core/byte-queue.js'
import { assertInteger } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { DEFAULT_STALL } from '../../verifier/mirrors/failover.js'
import { SliceVerifier } from '../../verifier/slice/slice.js'
import { fetchExhausted } from '../../lib/core/errors.js'
import { mirrorsOf } from '../../verifier/mirrors/mirror.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { systemClock, withPatience } from '../../verifier/mirrors/patience.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { Mirror, MirrorLike } from '../../verifier/mirrors/mirror.js' */

/** Bytes of ranges that are healed in one call, at most. `download` fetches more. */
const MAX_LEN = 1 << 26

/**
 * Makes the `heal` of a store from mirrors. They are asked one after the other, first the one that has helped last.
 * What they send is verified before the store gets it, in memory.
 *
 *     const store = await BlobStore.open(directory, { heal: fromMirrors(['https://example.org/blobs/{cid}']) })
 *
 * @param {Iterable<MirrorLike>} mirrors  as `mirrorOf` takes them. URLs need `{cid}` or `{hex}` in them, unless the
 *   store has only one blob
 * @param {{ stall?: number }} [options]  `stall`: milliseconds in which a mirror must bring 16 KiB; default: 15 000
 * @returns {(cid: CID, ranges: ChunkRanges, options: { signal?: AbortSignal }) => Promise<Uint8Array>} gives a slice,
 *   or throws FETCH_EXHAUSTED; RangeError for more than 64 MiB
 */
export function fromMirrors (mirrors, options = {}) {
  assertKnownOptions(options, ['stall'])
  const { stall = DEFAULT_STALL } = options
  assertInteger('stall', stall, 1)
  const list = [...mirrors].flatMap(mirror => mirrorsOf(mirror))
  return async (cid, ranges, { signal } = {}) => {
    const chunks = [...ranges].reduce((sum, [start, end]) => sum + end - start, 0)
    if (chunks * CHUNK_LEN > MAX_LEN) {
      throw new RangeError(`"ranges" expected at most ${MAX_LEN} bytes to heal: use download() for more`)
    }
    const errors = []
    for (const mirror of [...list]) {
      try {
        const slice = await verifiedSlice(mirror, parseRoot(cid), ranges, { stall, signal })
        list.sort((a, b) => Number(b === mirror) - Number(a === mirror))
        return slice
      } catch (error) {
        signal?.throwIfAborted()
        errors.push(/** @type {Error} */ (error))
      }
    }
    throw fetchExhausted(errors)
  }
}

/**
 * @param {Mirror} mirror @param {Uint8Array} root @param {ChunkRanges} ranges
 * @param {{ stall: number, signal?: AbortSignal }} options
 * @returns {Promise<Uint8Array>} the slice with the size in front, when all of it has been verified
 */
async function verifiedSlice (mirror, root, ranges, { stall, signal }) {
  const { location } = mirror
  const verifier = new SliceVerifier({ cid: root, ranges, onLeaf: () => {} })
  const what = { root, ranges, groupLog: DEFAULT_GROUP_LOG }
  const open = (/** @type {AbortSignal} */ signal) => mirror.pieces(what, signal)
  const slice = new ByteQueue()
  for await (const piece of withPatience(open, { location, stall, clock: systemClock, signal })) {
    verifier.write(piece)
    slice.push(piece, Infinity)
    if (verifier.error !== undefined) throw verifier.error
    if (verifier.done) break
  }
  verifier.end()
  return slice.bytes
}
