// Receives the heads of blobs whose size is not known. The head of a small blob is the whole blob, so one request is
// enough. Small blobs are verified in memory and written in batches, because a thousand single writes would wait for
// the disk a thousand times.

import { ByteQueue } from '../../../lib/core/byte-queue.js'
import { CHUNK_LEN } from '../../../lib/core/constants.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { HEADER_LEN, u64FromBytes } from '../../../lib/core/bytes.js'
import { FILE_FROM } from '../../../store/interface.js'
import { SliceVerifier } from '../../../verifier/slice/slice.js'
import { verifyPieces } from '../../../verifier/slice/pieces.js'

/** @import { Store } from '../../../store/interface.js' */

/** The chunks of the head: 1 MiB. */
export const HEAD = new ChunkRanges([0, FILE_FROM / CHUNK_LEN])

/** The maximum number of blobs that are written together. */
const MAX_BATCH = 256

/** @typedef {{ bytes: Uint8Array, resolve: (value?: undefined) => void, reject: (error: unknown) => void }} Waiting */

export class HeadReceiver {
  #store
  /** Blobs that are waiting for the next batch. @type {Waiting[]} */
  #waiting = []
  #isWriting = false

  /** @param {Store} store */
  constructor (store) {
    this.#store = store
  }

  /**
   * Keeps the part of a slice that verifies.
   *
   * @param {Uint8Array} root @param {ChunkRanges} ranges  the ranges of the head
   * @param {AsyncIterable<Uint8Array>} pieces  the pieces of the slice with its header, unverified
   * @param {{ signal: AbortSignal, onKept: (len: number) => void }} options  those of `Store.receive`; `onKept` is not
   *   called for a blob that is verified in memory
   * @returns {Promise<number | undefined>} the size of the blob, if it was verified in memory and the store has it now
   */
  async receive (root, ranges, pieces, options) {
    const source = pieces[Symbol.asyncIterator]()
    try {
      const head = await readHeader(source)
      const all = withHead(head, source)
      const claim = head.length < HEADER_LEN ? 0 : u64FromBytes(head)
      if (claim > FILE_FROM || !ranges.equals(HEAD)) {
        await this.#store.receive(root, all, ranges, options)
        return undefined
      }
      const blob = new ByteQueue()
      const verifier = new SliceVerifier({ cid: root, ranges })
      for await (const { bytes } of verifyPieces(verifier, all)) blob.push(bytes, FILE_FROM)
      await this.putSmallBlob(blob.bytes)
      return blob.len
    } finally {
      await source.return?.()
    }
  }

  /**
   * Puts a whole blob with the next batch.
   *
   * @param {Uint8Array} bytes  verified
   * @returns {Promise<void>} resolves when the store has kept it
   */
  putSmallBlob (bytes) {
    const kept = new Promise((resolve, reject) => this.#waiting.push({ bytes, resolve, reject }))
    if (!this.#isWriting) this.#write()
    return kept
  }

  /** Writes batches until no blob is waiting. */
  async #write () {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MAX_BATCH)
      const kept = this.#store.putMany(batch.map(({ bytes }) => bytes))
      try {
        while (!(await kept.next()).done) batch.shift()?.resolve()
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#isWriting = false
  }
}

/**
 * @param {AsyncIterator<Uint8Array>} source
 * @returns {Promise<Uint8Array>} the bytes of the first pieces, up to the one that completes the header
 */
async function readHeader (source) {
  const head = new ByteQueue()
  while (head.len < HEADER_LEN) {
    const { done, value } = await source.next()
    if (done) break
    head.push(value, Infinity)
  }
  return head.bytes
}

/** @param {Uint8Array} head @param {AsyncIterator<Uint8Array>} source */
async function * withHead (head, source) {
  yield head
  while (true) {
    const { done, value } = await source.next()
    if (done) return
    yield value
  }
}
