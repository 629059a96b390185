// Has mirrors prove the size of a blob by its last chunk. Until then nothing but the head is fetched, because any size
// may be a lie. The first mirror that proves it is enough.

import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { SliceVerifier } from '../../../verifier/slice/slice.js'
import { verifyPieces } from '../../../verifier/slice/pieces.js'

/** @import { Supply } from '../../../verifier/mirrors/supply.js' */
/** @import { Task } from '../downloader.js' */
/** @import { MirrorRequest } from '../mirror-request.js' */
/** @import { AskedForBlob } from './blob-download.js' */
/** @import { WantedBlob } from './wanted-blob.js' */

/** A step of a download: see `Step` in blob-download.js. */
export class SizeProof {
  #blob
  #onProven
  #requests = /** @type {Map<Supply, MirrorRequest>} */ (new Map())
  #isProven = false
  /** There is more to do when the size is known. */
  isDone = false
  progress = { done: 0 }

  /** @param {WantedBlob} blob @param {(size: number) => Promise<void>} onProven  called once */
  constructor (blob, onProven) {
    this.#blob = blob
    this.#onProven = onProven
  }

  /** @param {Supply} supply @param {AskedForBlob} asked @returns {Task | undefined} */
  take (supply, { mayRace }) {
    if (this.#isProven || !mayProve(supply) || this.#requests.has(supply)) return undefined
    if (this.#requests.size > 0 && !mayRace) return undefined
    return { run: () => this.#ask(supply), isSmall: true }
  }

  /** @param {Supply[]} supplies */
  isHopeless (supplies) {
    return !this.#isProven && this.#requests.size === 0 && !supplies.some(mayProve)
  }

  /** @param {Supply} supply */
  async #ask (supply) {
    const ranges = ChunkRanges.last
    const verifier = new SliceVerifier({ cid: this.#blob.root, ranges })
    const request = this.#blob.request(supply)
    this.#requests.set(supply, request)
    try {
      const leaves = verifyPieces(verifier, this.#blob.slice(request, ranges))
      while (!(await leaves.next()).done);
    } catch (error) {
      if (!request.signal.aborted) request.failed(error, ranges)
      return
    } finally {
      this.#requests.delete(supply)
    }
    supply.progressed()
    if (this.#isProven) return
    this.#isProven = true
    for (const other of this.#requests.values()) other.end('the size is known')
    await this.#onProven(/** @type {number} */ (verifier.size))
  }
}

/** @param {Supply} supply */
const mayProve = supply => supply.isUsable && !supply.lacksLast
