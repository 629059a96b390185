// The last resort of a download: whole files from servers that have nothing to prove a part of the blob. Such a file is
// unproven until its last byte has arrived, so its length is limited, and the store does not name it before that.

import { fetchRefused } from '../../../lib/core/errors.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'

/** @import { WholeFile } from '../../../verifier/mirrors/server/url-mirror.js' */
/** @import { Candidate } from '../../../verifier/mirrors/candidate.js' */
/** @import { MirrorRequest } from '../../../verifier/mirrors/mirror-request.js' */
/** @import { AskedForBlob, Task } from '../work.js' */
/** @import { WantedBlob } from './wanted-blob.js' */

/** The stage of a download while a file is chosen: see `Stage` in work.js. */
export class WholeFiles {
  #blob
  #maxLen
  #onRight
  /** The file that is being read, or will be read next. */
  #chosen = /** @type {{ candidate: Candidate, file: WholeFile, request?: MirrorRequest } | undefined} */ (undefined)
  isDone = false

  /**
   * @param {WantedBlob} blob @param {number} maxUnverified  bytes
   * @param {(size: number) => Promise<void>} onRight  called when the store has the blob
   */
  constructor (blob, maxUnverified, onRight) {
    this.#blob = blob
    this.#maxLen = Math.min(maxUnverified, blob.store.quota ?? Infinity)
    this.#onRight = onRight
  }

  get isChosen () { return this.#chosen !== undefined }

  /**
   * Chooses a file, and removes it from `wholeFiles`. Only another request to its server can add it again.
   *
   * @returns {boolean} false if none is left
   */
  choose () {
    const { wholeFiles } = this.#blob
    for (const [candidate, file] of this.#maxLen > 0 ? wholeFiles : []) {
      wholeFiles.delete(candidate)
      if (!candidate.record.isUsable) continue
      this.#chosen = { candidate, file }
      return true
    }
    return false
  }

  /** @param {Candidate} candidate @param {AskedForBlob} asked @returns {Task | undefined} */
  nextTask (candidate, { smallOnly }) {
    const chosen = this.#chosen
    if (smallOnly || chosen?.candidate !== candidate || chosen.request !== undefined) return undefined
    const request = this.#blob.request(candidate)
    chosen.request = request
    return { run: () => this.#fetch(request, chosen.file), isSmall: false }
  }

  isHopeless () { return false }

  /** @returns {{ done: number, total?: number }} bytes */
  get progress () { return { done: this.#chosen?.request?.len ?? 0, total: this.#blob.size } }

  /**
   * Reads a file from a server, and keeps it if it has the right hash.
   *
   * @param {MirrorRequest} request @param {WholeFile} file
   */
  async #fetch (request, file) {
    const { root, size, store } = this.#blob
    const { signal } = request
    try {
      const pieces = request.pieces(signal => this.#pieces(request, file, signal))
      const stored = await store.put(pieces, { expect: root, size, signal })
      request.gained(stored.size)
      await this.#onRight(stored.size)
    } catch (error) {
      if (signal.aborted) return
      if (!request.isCauseOf(error)) throw error
      request.failed(error, ChunkRanges.all)
    } finally {
      this.#chosen = undefined
    }
  }

  /**
   * Yields the bytes of a file, unverified.
   *
   * @param {MirrorRequest} request @param {WholeFile} file @param {AbortSignal} signal
   * @throws {import('../../../lib/core/errors.js').BaoError} FETCH_REFUSED when the file has more bytes than allowed
   */
  async * #pieces ({ candidate }, file, signal) {
    // If the size is proven, no limit is needed, because the store never takes more bytes than that.
    const maxLen = this.#blob.size === undefined ? this.#maxLen : Infinity
    const tooLong = () => {
      const [limit, advice] = maxLen === this.#blob.store.quota
        ? [', the quota of the store', 'Open the store with a larger "quota"']
        : ['', 'Give an outboard, or raise "maxUnverified" (--max-unverified)']
      const why = `nothing proves a part of the blob, and it is longer than ${maxLen} bytes${limit}`
      return fetchRefused(candidate.mirror.location, `${why}. ${advice}`)
    }
    if (file.size !== undefined && file.size > maxLen) throw tooLong()
    let len = 0
    for await (const piece of file.open(signal)) {
      len += piece.length
      if (len > maxLen) throw tooLong()
      yield piece
    }
  }
}
