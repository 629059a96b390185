// The blob of a download: which of its groups are wanted, which of them the store lacks, and how a mirror is asked for
// some of them.

import { DEFAULT_GROUP_LOG } from '../../../lib/core/constants.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { MirrorRequest } from '../mirror-request.js'

/** @import { Mirror } from '../../../verifier/mirrors/mirror.js' */
/** @import { WholeFile } from '../../../verifier/mirrors/server/url-mirror.js' */
/** @import { Supply } from '../../../verifier/mirrors/supply.js' */
/** @import { HttpOptions } from '../../../verifier/sources/http/options.js' */
/** @import { BlobRecord } from '../../../store/storage/format/records.js' */
/** @import { StoreContext } from '../../../store/store-context.js' */
/** @import { DownloadTerms } from '../downloader.js' */

/**
 * @typedef {object} WantedBlobOptions
 * @property {Uint8Array} root
 * @property {ChunkRanges} wanted
 * @property {(from: Mirror, url: URL, http: HttpOptions) => void} [onDuplicate]  called when a mirror names another
 */

export class WantedBlob {
  #terms
  #signal
  #wanted
  #onDuplicate
  /** What mirrors have that have all bytes of the blob, and nothing that proves a part of them. */
  wholeFiles = /** @type {Map<Supply, WholeFile>} */ (new Map())
  /** Proven. @type {number | undefined} */
  size

  /**
   * @param {StoreContext} store @param {DownloadTerms} terms @param {AbortSignal} signal  of the downloader
   * @param {WantedBlobOptions} options
   */
  constructor (store, terms, signal, { root, wanted, onDuplicate }) {
    this.store = store
    this.root = root
    this.#terms = terms
    this.#signal = signal
    this.#wanted = wanted
    this.#onDuplicate = onDuplicate
  }

  /** The groups that are wanted of a blob of this size. @param {number} size */
  groups (size) {
    return this.#wanted.canonical(size).roundToGroups(DEFAULT_GROUP_LOG).intersect(ChunkRanges.all.canonical(size))
  }

  /** @returns {Promise<BlobRecord | undefined>} */
  record () { return this.store.catalog.get(this.root) }

  /** What the store lacks of some groups. @param {ChunkRanges} groups */
  async missing (groups) { return this.missingBy(await this.record(), groups) }

  /** The same for a record that was read already. @param {BlobRecord | undefined} record @param {ChunkRanges} groups */
  async missingBy (record, groups) {
    if (record === undefined) return groups
    return record.complete ? ChunkRanges.none : groups.difference(await this.store.presence.of(record))
  }

  /** Begins a request to a mirror. @param {Supply} supply */
  request (supply) { return new MirrorRequest(this.#terms, this.#signal, supply) }

  /**
   * The slice that a mirror sends, unverified.
   *
   * @param {MirrorRequest} request @param {ChunkRanges} ranges
   */
  slice (request, ranges) {
    const { mirror } = request.supply
    const what = {
      root: this.root,
      ranges,
      groupLog: DEFAULT_GROUP_LOG,
      size: this.size,
      onDuplicate: (/** @type {URL} */ url, /** @type {HttpOptions} */ http) => this.#onDuplicate?.(mirror, url, http),
      onWhole: (/** @type {WholeFile} */ file) => { this.wholeFiles.set(request.supply, file) }
    }
    return request.pieces(signal => mirror.pieces(what, signal))
  }
}
