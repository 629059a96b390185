// Puts whole blobs: their bytes are written under a fresh id before the hash is known, then the record is committed.

import { equals } from 'uint8arrays/equals'
import { eitherOf } from '../storage/concurrency/activity.js'
import { isIntact } from '../check/inspect-blob.js'
import { pathOfReference } from '../storage/content/stored-file.js'
import { toCid } from '../../lib/hash/cid.js'
import { toPieces } from '../../lib/source/source.js'
import { IncomingBlob } from './blob-builder.js'
import { TempTag } from '../gc/protection.js'
import { assertFormat, assertName } from '../catalog/tags.js'
import { fullError, mismatch } from '../storage/errors.js'
import { isKept, rangesLen } from '../catalog/presence.js'
import { nameOf } from '../catalog/roots.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { Operation } from '../storage/level/safe-database.js' */
/** @import { PutOptions, StoreContext } from '../blob-store.js' */
/** @import { Reservation } from '../catalog/quota.js' */
/** @import { BlobRecord, Tag } from '../storage/format/records.js' */
/** @import { Source } from '../../lib/core/types.js' */
/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */

export class BlobWriter {
  #store

  /** @param {StoreContext} store */
  constructor (store) {
    this.#store = store
  }

  /**
   * @param {Source} source @param {PutOptions} options  see `BlobStore.put`
   * @param {{ cid?: CID, alias?: Uint8Array, path?: string }} [known]  what names it: a BLAKE3 CID, which is
   *   compared; or the multihash of another function, which was. `path`: of a file that has the bytes and will keep
   *   them
   */
  put (source, { signal, onProgress, tag, format = 'raw', verify = false }, { cid, alias, path } = {}) {
    // Bytes in memory never keep `close` waiting.
    const closing = source instanceof Uint8Array ? undefined : new AbortController()
    return this.#store.activity.run(async () => {
      assertFormat(format)
      if (tag instanceof TempTag) tag.assertOf(this.#store.protection)
      else if (tag !== undefined) assertName('tag', tag)
      const id = await this.#store.databases.ids.newId()
      const blob = new IncomingBlob(this.#store.databases, id, { isElsewhere: path !== undefined })
      let release = () => {}
      try {
        const either = eitherOf(signal, closing?.signal)
        for await (const piece of toPieces(source, { signal: either, onProgress, type: 'baobox:put' })) {
          await blob.write(piece)
          const { limit } = this.#store.quota
          if (path === undefined && blob.size > limit) throw fullError(blob.size, limit)
        }
        const root = blob.root()
        if (cid !== undefined && !equals(cid.multihash.digest, root)) throw mismatch(cid)
        release = this.#store.protection.use(root)
        if (tag instanceof TempTag) tag.add(root, { format })
        const tagging = typeof tag === 'string' ? { name: tag, root, format } : undefined
        /** @param {ChunkRanges} present */
        const lenBeyond = present => path === undefined ? blob.size - rangesLen(present, blob.size) : 0
        const reservation = await this.#store.evictor.reserve(root, lenBeyond)
        try {
          const how = { reservation, tagging, alias, path, verify, signal }
          return await this.#store.locks.run(nameOf(root), () => this.#adopt(id, root, blob, how))
        } finally {
          reservation.release()
        }
      } catch (error) {
        await this.#giveUp(id, blob)
        throw error
      } finally {
        release()
        if (!blob.mayBeRecorded) this.#store.databases.ids.settle(id)
      }
    }, closing && (reason => closing.abort(reason)))
  }

  /**
   * Commits the record of a written blob, unless the store has the blob already. Under the blob's lock.
   *
   * @param {number} id @param {Uint8Array} root @param {IncomingBlob} blob
   * @param {{ reservation: Reservation, tagging?: Tag, alias?: Uint8Array, path?: string, verify: boolean,
   *   signal?: AbortSignal }} options  `tagging`: the tag that it is to have
   */
  async #adopt (id, root, blob, { reservation, tagging, alias, path, verify, signal }) {
    const { catalog, databases } = this.#store
    const { isThere, record: before } = await catalog.find(root)
    const isWhole = before?.complete === true && (!verify || await isIntact(databases, root, before, signal))
    const result = { cid: toCid(root), size: blob.size, isNew: !isWhole }
    if (before && isWhole && (isKept(before) || await isReferenceTo(databases, before, path))) {
      if (tagging !== undefined) await this.#store.tags.set(tagging)
      await this.#discard(id, blob)
      await catalog.putAgain(root, before, alias)
      return result
    }
    // First the data, then the record that names it: this order keeps the two databases consistent.
    await blob.finish()
    signal?.throwIfAborted()
    // A blob that was present in part, or damaged, may have been wanted under its own name.
    const isNameless = alias !== undefined && (!isThere || before?.isNameless === true)
    /** @type {BlobRecord} */
    const record = {
      id, size: blob.size, sizeProven: true, complete: true, home: blob.home, created: Date.now(), isNameless
    }
    const lenBefore = before === undefined ? 0 : await this.#store.presence.len(before)
    const gained = (path === undefined ? record.size : 0) - lenBefore
    const aliases = alias === undefined ? [] : [alias]
    const change = { root, before, after: record, gained, reservations: [reservation], aliases, path }
    /** @param {Operation[]} [also] */
    const commit = also => {
      blob.mayBeRecorded = true
      return catalog.commit([change], { also })
    }
    await (tagging === undefined ? commit() : this.#store.tags.set(tagging, commit))
    blob.mayBeRecorded = false // the record is acknowledged
    return result
  }

  /** Leaves nothing of a blob whose put has failed. @param {number} id @param {IncomingBlob} blob */
  async #giveUp (id, blob) {
    if (!blob.mayBeRecorded) return this.#discard(id, blob)
    await blob.settle()
    this.#store.activity.noteLeftovers()
  }

  /** Deletes what was written of a blob that has no record. @param {number} id @param {IncomingBlob} blob */
  async #discard (id, blob) {
    await blob.settle()
    if (!blob.isWritten) return
    try {
      await this.#store.databases.deleteData(id)
    } catch {
      this.#store.activity.noteLeftovers()
    }
  }
}

/**
 * Are the bytes of a blob by reference read from this path? Otherwise they will be: the path has them now.
 *
 * @param {Databases} databases @param {BlobRecord} record @param {string} [path]  of the file that is put by reference
 */
const isReferenceTo = async (databases, record, path) =>
  path !== undefined && path === await pathOfReference(databases, record.id)
