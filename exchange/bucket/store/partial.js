// Blobs that were received in part. Their groups wait in the local store, under a tag there, until they are whole.

import { notFound } from '../../../store/interface.js'
import { parseRoot, toCid } from '../../../lib/hash/cid.js'
import { nameOf } from '../../../lib/hash/roots.js'
import { Locks } from '../../../lib/async/locks.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { HashSet } from '../../../lib/core/hash-set.js' */
/** @import { BlobStore, BlobStat } from '../../../store/index.js' */

const PREFIX = 'baobox-bucket/partial/'

export class PartialBlobs {
  #local
  #locks = new Locks()

  /** @param {BlobStore} local */
  constructor (local) {
    this.#local = local
  }

  /** @param {Uint8Array} root */
  async has (root) { return await this.#local.tags.get(tagOf(root)) !== undefined }

  /**
   * Runs work that receives groups of a blob. They are protected before there are any. If there are none in the end,
   * nothing stays: anybody may send wrong slices.
   *
   * @template T @param {Uint8Array} root @param {() => Promise<T>} work @returns {Promise<T>}
   */
  async protect (root, work) {
    if (!await this.has(root)) await this.#begin(root)
    try {
      return await work()
    } finally {
      // Calls for the same blob at the same time end one after the other, and each sees what the others have received.
      await this.#locks.run(nameOf(root), async () => {
        const [stat] = await this.#local.statMany([root])
        if (stat === undefined) await this.end(root)
        else if (!stat.complete && !await this.has(root)) await this.#begin(root)
      }).catch(() => {}) // Otherwise the error of the work would be lost. A tag that stays claims nothing.
    }
  }

  /** @param {Uint8Array} root */
  async #begin (root) { await this.#local.tags.set(tagOf(root), root) }

  /** Ends the protection. @param {Uint8Array} root */
  async end (root) { await this.#local.tags.delete(tagOf(root)) }

  /** Deletes what there is of a blob. @param {Uint8Array} root @returns {Promise<{ blobs: number, bytes: number }>} */
  async delete (root) {
    if (!await this.has(root)) return { blobs: 0, bytes: 0 }
    await this.end(root)
    return this.#local.delete(root, { force: true })
  }

  /**
   * Deletes blobs of which nothing was received or read for a time.
   *
   * @param {HashSet} marks  those that stay @param {number} maxAge  milliseconds
   * @returns {AsyncGenerator<{ cid: CID, bytes: number }>} the deleted ones
   */
  async * deleteOld (marks, maxAge) {
    for await (const { cid } of this.list()) {
      const root = parseRoot(cid)
      const { lastUsed } = await this.#local.stat(root)
      if (marks.has(nameOf(root)) || Date.now() - lastUsed.getTime() < maxAge) continue
      const { bytes } = await this.delete(root)
      yield { cid, bytes }
    }
  }

  /** @param {Uint8Array} root @returns {Promise<BlobStat | undefined>} undefined if there is nothing of the blob */
  async stat (root) {
    const [stat] = await this.#local.statMany([root])
    return stat !== undefined && await this.has(root) ? stat : undefined
  }

  /** Like `stat`, with all properties. @param {Uint8Array} root */
  async details (root) {
    if (!await this.has(root)) throw notFound(root)
    return this.#local.stat(root)
  }

  /** Lists the blobs, in no order. @returns {AsyncGenerator<BlobStat>} */
  async * list () {
    for await (const { cid } of this.#local.tags.list({ prefix: PREFIX })) {
      const [stat] = await this.#local.statMany([cid])
      if (stat !== undefined) yield stat
    }
  }
}

/** @param {Uint8Array} root */
const tagOf = root => `${PREFIX}${toCid(root)}`
