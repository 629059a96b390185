// The blob of a download. Says which of its groups are wanted and which of those the store lacks, and asks mirrors for
// groups.

import { DEFAULT_GROUP_LOG } from '../../../lib/core/constants.js'
import { BaoError } from '../../../lib/core/errors.js'
import { ChunkRanges, rangesLen } from '../../../lib/tree/ranges.js'
import { MirrorRequest } from '../../../verifier/mirrors/mirror-request.js'

/** @import { Candidate } from '../../../verifier/mirrors/candidate.js' */
/** @import { WholeFile } from '../../../verifier/mirrors/server/url-mirror.js' */
/** @import { Store } from '../../../store/interface.js' */
/** @import { Session } from '../work.js' */

/** @typedef {Awaited<ReturnType<Store['stat']>>} BlobDetails */

export class WantedBlob {
  #session
  #wanted
  /** Files that have all bytes of the blob, on servers that have nothing to prove a part of them, by mirror. */
  wholeFiles = /** @type {Map<Candidate, WholeFile>} */ (new Map())
  /** The size of the blob in bytes; undefined until it is proven. @type {number | undefined} */
  size

  /** @param {Session} session @param {{ root: Uint8Array, wanted: ChunkRanges }} blob */
  constructor (session, { root, wanted }) {
    this.#session = session
    this.store = session.store
    this.root = root
    this.#wanted = wanted
  }

  /** The wanted groups of a blob of this size. @param {number} size */
  groups (size) {
    return this.#wanted.canonical(size).roundToGroups(DEFAULT_GROUP_LOG).intersect(ChunkRanges.all.canonical(size))
  }

  /**
   * Returns what the store knows about the blob; undefined if the store has no part of it.
   *
   * @returns {Promise<BlobDetails | undefined>}
   * @throws {BaoError} STORE_CORRUPT when the record of the blob is damaged
   */
  async stat () {
    if (await this.store.resolve(this.root) === undefined) return undefined // quicker than an error
    try {
      return await this.store.stat(this.root)
    } catch (error) {
      if (error instanceof BaoError && error.code === 'STORE_NOT_FOUND') return undefined
      throw error
    }
  }

  /** The part of some groups that the store lacks. @param {ChunkRanges} groups */
  async missing (groups) { return this.missingBy(await this.stat(), groups) }

  /**
   * Does what `missing` does, but uses a result of `stat` that the caller already has.
   *
   * @param {BlobDetails | undefined} stat @param {ChunkRanges} groups
   */
  missingBy (stat, groups) {
    if (stat === undefined) return groups
    return stat.complete ? ChunkRanges.none : groups.difference(stat.present)
  }

  /** How many bytes of the wanted groups the store has. @param {BlobDetails | undefined} stat */
  presentLen (stat) {
    return stat === undefined ? 0 : rangesLen(stat.present.intersect(this.groups(stat.size)), stat.size)
  }

  /** Begins a request to a mirror. @param {Candidate} candidate */
  request (candidate) { return new MirrorRequest(this.#session.book, candidate, this.#session.signal) }

  /**
   * The slice that a mirror sends, unverified.
   *
   * @param {MirrorRequest} request @param {ChunkRanges} ranges
   */
  slice (request, ranges) {
    const { root, size } = this
    const onWhole = (/** @type {WholeFile} */ file) => { this.wholeFiles.set(request.candidate, file) }
    return request.slice({ root, ranges, groupLog: DEFAULT_GROUP_LOG, size, onWhole })
  }
}
