// Makes mirrors prove the size of a blob by its last chunk. Before that, only the head is fetched, because any claimed
// size may be a lie. One mirror that proves the size is enough.

import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { SliceVerifier } from '../../../verifier/slice/slice.js'
import { verifyPieces } from '../../../verifier/slice/pieces.js'

/** @import { Candidate } from '../../../verifier/mirrors/candidate.js' */
/** @import { MirrorRequest } from '../../../verifier/mirrors/mirror-request.js' */
/** @import { AskedForBlob, Task } from '../work.js' */
/** @import { WantedBlob } from './wanted-blob.js' */

/** A stage of a download: see `Stage` in work.js. */
export class SizeProof {
  #blob
  #onProven
  #requests = /** @type {Map<Candidate, MirrorRequest>} */ (new Map())
  #isProven = false
  /** Never true, because `onProven` replaces this stage by another one. */
  isDone = false

  /**
   * @param {WantedBlob} blob @param {number} done  how many bytes of the blob the store has
   * @param {(size: number) => Promise<void>} onProven  called once, by the task that has proven the size. It makes the
   *   next stage of the download, so this stage is asked for nothing after that
   */
  constructor (blob, done, onProven) {
    this.progress = { done }
    this.#blob = blob
    this.#onProven = onProven
  }

  /** @param {Candidate} candidate @param {AskedForBlob} asked @returns {Task | undefined} */
  nextTask (candidate, { mayRace }) {
    if (this.#isProven || !mayProve(candidate) || this.#requests.has(candidate)) return undefined
    if (this.#requests.size > 0 && !mayRace) return undefined
    return { run: () => this.#ask(candidate), isSmall: true }
  }

  /** @param {Candidate[]} candidates */
  isHopeless (candidates) {
    return !this.#isProven && this.#requests.size === 0 && !candidates.some(mayProve)
  }

  /** @param {Candidate} candidate */
  async #ask (candidate) {
    const ranges = ChunkRanges.last
    const verifier = new SliceVerifier({ cid: this.#blob.root, ranges })
    const request = this.#blob.request(candidate)
    this.#requests.set(candidate, request)
    try {
      const leaves = verifyPieces(verifier, this.#blob.slice(request, ranges))
      while (!(await leaves.next()).done);
    } catch (error) {
      if (!request.signal.aborted) request.failed(error, ranges)
      return
    } finally {
      this.#requests.delete(candidate)
    }
    candidate.progressed()
    if (this.#isProven) return
    this.#isProven = true
    for (const other of this.#requests.values()) other.end('the size is known')
    await this.#onProven(/** @type {number} */ (verifier.size))
  }
}

/** @param {Candidate} candidate */
const mayProve = candidate => candidate.isUsable && !candidate.lacksLast
