// Downloads members of a sequence that a mirror sends in one stream, one behind the other. Ten thousand small blobs
// cost ten requests then.

import { ByteQueue } from '../../../lib/core/byte-queue.js'
import { HEADER_LEN, u64FromBytes } from '../../../lib/core/bytes.js'
import { DEFAULT_GROUP_LOG } from '../../../lib/core/constants.js'
import { toCid } from '../../../lib/hash/cid.js'
import { sliceLenOf } from '../../../lib/slice/slicer.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { withPatience } from '../../../verifier/mirrors/patience.js'
import { SliceSource } from '../../../verifier/slice/slice-source.js'
import { SliceVerifier } from '../../../verifier/slice/slice.js'
import { FILE_FROM } from '../../write/blob-builder.js'
import { isOfMirror } from './blob/blob-download.js'

/** @import { Mirror } from '../../../verifier/mirrors/mirror.js' */
/** @import { StoreContext } from '../store-context.js' */
/** @import { HeadReceiver } from './blob/head-receiver.js' */
/** @import { DownloadTerms } from './downloader.js' */
/** @import { Member } from './members.js' */
/** @import { MemberState } from './progress.js' */

/** Members of a run, at most. */
export const RUN_COUNT = 1000
/** Bytes of small blobs that wait to be kept, before no more are read. */
const MAX_UNKEPT_LEN = 1 << 24
/** Bytes that are handed on behind a size that no blob can have. */
const IMPOSSIBLE_LEN = 1 << 18

export class MemberRun {
  #store
  #terms
  #heads
  #sequence
  #onWhole
  /** Bytes that wait to be kept, and what resolves when some are. */
  #unkept = 0
  #keeping = /** @type {Set<Promise<void>>} */ (new Set())
  /** Why something could not be kept, or told. @type {{ error: unknown } | undefined} */
  #fault
  /** Bytes that have come of the first of those that are left. */
  #len = 0
  /** Those that have not come. */
  left
  /** Verified bytes that have come. */
  received = 0

  /**
   * @param {StoreContext} store @param {DownloadTerms} terms @param {HeadReceiver} heads
   * @param {{ sequence: Uint8Array, members: Member[], onWhole: (member: Member, size: number) => void }} what
   *   `sequence`: its hash; `members`: in their order; `onWhole` gets each when it is kept
   */
  constructor (store, terms, heads, { sequence, members, onWhole }) {
    this.#store = store
    this.#terms = terms
    this.#heads = heads
    this.#sequence = sequence
    this.#onWhole = onWhole
    this.left = members
  }

  /** @returns {MemberState[]} */
  get current () {
    const [member] = this.left
    return member === undefined ? [] : [{ index: member.index, cid: toCid(member.root), done: this.#len }]
  }

  /**
   * Keeps what is right of the members that a mirror sends, up to the first that is wrong, or that the mirror lacks.
   *
   * @param {Mirror} mirror @param {AbortSignal} signal
   * @returns {Promise<unknown>} what the mirror has failed with, if it has
   * @throws what the store has failed with
   */
  async fetch (mirror, signal) {
    const watched = { error: undefined }
    const slices = new SliceSource(this.#pieces(mirror, signal, watched))
    let failure
    try {
      while (this.left.length > 0 && this.#fault === undefined && !await slices.isAtEnd()) {
        await this.#receive(this.left[0], slices, signal)
        this.left.shift()
        this.#len = 0
      }
    } catch (error) {
      failure = error
    } finally {
      await slices.close().catch(() => {}) // it has failed before
      await Promise.all(this.#keeping)
    }
    if (this.#fault !== undefined) throw this.#fault.error
    if (failure !== undefined && !signal.aborted && !isOfMirror(failure, watched)) throw failure
    return failure
  }

  /** @param {Member} member @param {SliceSource} slices @param {AbortSignal} signal */
  async #receive (member, slices, signal) {
    const header = await slices.read(HEADER_LEN)
    const size = u64FromBytes(header)
    if (size > FILE_FROM) {
      await this.#store.receiver.receive(member.root, largeSlice(slices, header, size), ChunkRanges.all, { signal })
      return this.#came(member, size)
    }
    const blob = new ByteQueue()
    const verifier = new SliceVerifier({ root: member.root, size })
    for await (const { bytes } of slices.verifyNext(verifier)) blob.push(bytes, FILE_FROM)
    this.#keep(member, blob.bytes)
    while (this.#unkept > MAX_UNKEPT_LEN) await Promise.race(this.#keeping)
  }

  /** Keeps a small blob while the next ones come. @param {Member} member @param {Uint8Array} bytes */
  #keep (member, bytes) {
    this.#unkept += bytes.length
    const keeping = this.#heads.keep(bytes)
      .then(() => this.#came(member, bytes.length))
      .catch(error => { this.#fault ??= { error } })
      .finally(() => {
        this.#unkept -= bytes.length
        this.#keeping.delete(keeping)
      })
    this.#keeping.add(keeping)
  }

  /** @param {Member} member @param {number} size */
  #came (member, size) {
    this.received += size
    this.#onWhole(member, size)
  }

  /**
   * What the mirror sends, as long as it sends enough.
   *
   * @param {Mirror} mirror @param {AbortSignal} signal @param {{ error?: unknown }} watched
   */
  async * #pieces (mirror, signal, watched) {
    const { stall, clock, progress } = this.#terms
    const { location, members } = mirror
    const indices = this.left.map(({ index }) => index)
    const open = (/** @type {AbortSignal} */ signal) =>
      /** @type {NonNullable<Mirror['members']>} */ (members)(this.#sequence, indices, signal)
    try {
      for await (const piece of withPatience(open, { location, stall, clock, signal })) {
        this.#len += piece.length
        yield piece
        progress.report()
      }
    } catch (error) {
      watched.error = error
      throw error
    }
  }
}

/**
 * The next slice of a stream, up to its end.
 *
 * @param {SliceSource} slices @param {Uint8Array} header  that was read already @param {number} size  as it says
 */
async function * largeSlice (slices, header, size) {
  yield header
  const isPossible = size <= Number.MAX_SAFE_INTEGER
  const what = { size, groupLog: DEFAULT_GROUP_LOG, ranges: ChunkRanges.all }
  yield * slices.take(isPossible ? sliceLenOf(what) : IMPOSSIBLE_LEN)
}
