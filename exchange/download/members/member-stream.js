// Receives and keeps the members of a sequence that a mirror sends in one stream, one after the other. So ten thousand
// small blobs need only ten requests.

import { ByteQueue } from '../../../lib/core/byte-queue.js'
import { HEADER_LEN, u64FromBytes } from '../../../lib/core/bytes.js'
import { DEFAULT_GROUP_LOG } from '../../../lib/core/constants.js'
import { toCid } from '../../../lib/hash/cid.js'
import { sliceLenOf } from '../../../lib/slice/slicer.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { SliceSource } from '../../../verifier/slice/slice-source.js'
import { SliceVerifier } from '../../../verifier/slice/slice.js'
import { FILE_FROM } from '../../../store/interface.js'

/** @import { Mirror } from '../../../verifier/mirrors/mirror.js' */
/** @import { MirrorRequest } from '../../../verifier/mirrors/mirror-request.js' */
/** @import { Store } from '../../../store/interface.js' */
/** @import { Member } from './member-queue.js' */
/** @import { MemberState } from '../progress.js' */
/** @import { StreamOptions } from './member-streams.js' */

/**
 * The maximum number of bytes of small blobs that may wait to be kept. The stream is not read while more are waiting.
 */
const MAX_WAITING_LEN = 1 << 24
/** How many bytes are passed on after a header with a size that no blob can have. */
const IMPOSSIBLE_LEN = 1 << 18

export class MemberStream {
  #store
  #heads
  #request
  #sequence
  #onWhole
  /** How many bytes of small members are waiting to be kept. */
  #waitingLen = 0
  /** The members that are being kept. */
  #keeping = /** @type {Set<Promise<void>>} */ (new Set())
  /** The error of keeping a member, or of telling the caller about it. @type {{ error: unknown } | undefined} */
  #fault
  /** The offset of the first remaining member in the stream. */
  #start = 0
  /** The members that are not received yet. */
  left
  /** How many bytes of members have been kept. */
  received = 0

  /**
   * @param {Store} store @param {MirrorRequest} request
   * @param {Member[]} members  in their order @param {StreamOptions} options
   */
  constructor (store, request, members, { sequence, heads, onWhole }) {
    this.#store = store
    this.#heads = heads
    this.#request = request
    this.#sequence = sequence
    this.#onWhole = onWhole
    this.left = members
  }

  /** @returns {MemberState[]} */
  get current () {
    const [member] = this.left
    if (member === undefined) return []
    return [{ index: member.index, cid: toCid(member.root), done: this.#request.len - this.#start }]
  }

  /**
   * Receives and keeps the members that the mirror sends, up to the first one that is wrong or that the mirror lacks.
   *
   * @returns {Promise<unknown>} the error of the mirror, if it has failed
   * @throws the errors of the store
   */
  async fetch () {
    const request = this.#request
    const slices = new SliceSource(this.#pieces())
    let failure
    try {
      while (this.left.length > 0 && this.#fault === undefined && !await slices.isAtEnd()) {
        await this.#receive(this.left[0], slices)
        this.left.shift()
        this.#start = request.len
      }
    } catch (error) {
      failure = error
    } finally {
      await slices.close().catch(() => {}) // the first failure has been noted already
      await Promise.all(this.#keeping)
    }
    if (this.#fault !== undefined) throw this.#fault.error
    if (failure !== undefined && !request.signal.aborted && !request.isCauseOf(failure)) throw failure
    return failure
  }

  /** The bytes that the mirror sends. */
  #pieces () {
    const { members } = /** @type {{ members: NonNullable<Mirror['members']> }} */ (this.#request.candidate.mirror)
    const indices = this.left.map(({ index }) => index)
    return this.#request.pieces(signal => members(this.#sequence, indices, signal))
  }

  /** @param {Member} member @param {SliceSource} slices */
  async #receive (member, slices) {
    const { signal } = this.#request
    const header = await slices.read(HEADER_LEN)
    const size = u64FromBytes(header)
    if (size > FILE_FROM) {
      const onKept = (/** @type {number} */ len) => {
        member.kept = (member.kept ?? 0) + len
        this.received += len
      }
      await this.#store.receive(member.root, largeSlice(slices, header, size), ChunkRanges.all, { signal, onKept })
      return this.#onWhole(member, size)
    }
    const blob = new ByteQueue()
    const verifier = new SliceVerifier({ cid: member.root, size })
    for await (const { bytes } of slices.verifyNext(verifier)) blob.push(bytes, FILE_FROM)
    this.#keep(member, blob.bytes)
    while (this.#waitingLen > MAX_WAITING_LEN) await Promise.race(this.#keeping)
  }

  /**
   * Begins to keep a small blob, while the next members are received.
   *
   * @param {Member} member
   * @param {Uint8Array} bytes
   */
  #keep (member, bytes) {
    this.#waitingLen += bytes.length
    const keeping = this.#heads.putSmallBlob(bytes)
      .then(() => {
        this.received += bytes.length
        this.#onWhole(member, bytes.length)
      })
      .catch(error => { this.#fault ??= { error } })
      .finally(() => {
        this.#waitingLen -= bytes.length
        this.#keeping.delete(keeping)
      })
    this.#keeping.add(keeping)
  }
}

/**
 * Yields the whole next slice of a stream.
 *
 * @param {SliceSource} slices @param {Uint8Array} header  which was already read @param {number} size  in the header
 */
async function * largeSlice (slices, header, size) {
  yield header
  const isPossible = size <= Number.MAX_SAFE_INTEGER
  const len = () => sliceLenOf({ size, groupLog: DEFAULT_GROUP_LOG, ranges: ChunkRanges.all })
  // With its pairs, a slice of a possible size may be longer than numbers are exact.
  yield * slices.take(isPossible ? Math.min(len(), Number.MAX_SAFE_INTEGER) : IMPOSSIBLE_LEN)
}
