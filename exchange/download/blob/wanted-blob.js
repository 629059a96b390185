// The blob of a download: which of its groups are wanted, which of them the store lacks, and how a mirror is asked for
// some of them.

import { DEFAULT_GROUP_LOG } from '../../../lib/core/constants.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { MirrorRequest } from '../../../verifier/mirrors/mirror-request.js'

/** @import { Candidate } from '../../../verifier/mirrors/candidate.js' */
/** @import { WholeFile } from '../../../verifier/mirrors/server/url-mirror.js' */
/** @import { BlobStat } from '../../../store/index.js' */
/** @import { Session } from '../downloader.js' */

export class WantedBlob {
  #session
  #wanted
  /** What mirrors have that have all bytes of the blob, and nothing that proves a part of them. */
  wholeFiles = /** @type {Map<Candidate, WholeFile>} */ (new Map())
  /** Proven. @type {number | undefined} */
  size

  /** @param {Session} session @param {{ root: Uint8Array, wanted: ChunkRanges }} blob */
  constructor (session, { root, wanted }) {
    this.#session = session
    this.store = session.store
    this.root = root
    this.#wanted = wanted
  }

  /** The groups that are wanted of a blob of this size. @param {number} size */
  groups (size) {
    return this.#wanted.canonical(size).roundToGroups(DEFAULT_GROUP_LOG).intersect(ChunkRanges.all.canonical(size))
  }

  /**
   * What the store knows of the blob.
   *
   * @returns {Promise<BlobStat | undefined>}
   * @throws {import('../../../lib/core/errors.js').BaoError} STORE_CORRUPT when its record is damaged
   */
  async stat () {
    const [stat] = await this.store.statMany([this.root])
    if (stat === undefined) await this.store.has(this.root) // fails when the record is damaged
    return stat
  }

  /** What the store lacks of some groups. @param {ChunkRanges} groups */
  async missing (groups) { return this.missingBy(await this.stat(), groups) }

  /**
   * The same when `stat` has just been asked.
   *
   * @param {BlobStat | undefined} stat @param {ChunkRanges} groups
   */
  async missingBy (stat, groups) {
    if (stat === undefined) return groups
    return stat.complete ? ChunkRanges.none : groups.difference((await this.store.stat(this.root)).present)
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
