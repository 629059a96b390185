// How whole blobs get into the store. They are written under a fresh id before their hash is known, and then adopted.

import { equals } from 'uint8arrays/equals'
import { eitherOf } from '../storage/concurrency/activity.js'
import { toCid } from '../../lib/hash/cid.js'
import { toPieces } from '../../lib/source/source.js'
import { IncomingBlob } from './blob-builder.js'
import { TempTag } from '../gc/protection.js'
import { assertFormat, assertName } from '../catalog/tag-index.js'
import { full, mismatch } from '../storage/errors.js'
import { isKept, rangesLen } from '../catalog/presence.js'
import { nameOf } from '../catalog/catalog.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Activity } from '../storage/concurrency/activity.js' */
/** @import { Catalog, Operation } from '../catalog/catalog.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { Evictor } from '../gc/evictor.js' */
/** @import { Locks } from '../storage/concurrency/locks.js' */
/** @import { Presence } from '../catalog/presence.js' */
/** @import { Protection } from '../gc/protection.js' */
/** @import { PutOptions } from '../blob-store.js' */
/** @import { Quota, Room } from '../catalog/quota.js' */
/** @import { TagIndex } from '../catalog/tag-index.js' */
/** @import { Tag } from '../storage/format/records.js' */
/** @import { Source } from '../../lib/core/types.js' */

export class BlobWriter {
  #databases
  #catalog
  #locks
  #presence
  #protection
  #evictor
  #tags
  #quota
  #activity

  /**
   * @param {{ activity: Activity, databases: Databases, catalog: Catalog, locks: Locks, presence: Presence, protection: Protection, evictor: Evictor,
   *   quota: Quota, tags: TagIndex }} store
   */
  constructor ({ activity, databases, catalog, locks, presence, protection, evictor, quota, tags }) {
    this.#activity = activity
    this.#databases = databases
    this.#catalog = catalog
    this.#locks = locks
    this.#presence = presence
    this.#protection = protection
    this.#evictor = evictor
    this.#quota = quota
    this.#tags = tags
  }

  /**
   * @param {Source} source @param {PutOptions} options  see `BlobStore.put`
   * @param {{ cid?: CID, alias?: Uint8Array, path?: string }} [known]  what names it: a BLAKE3 CID, which is compared; or the multihash of
   *   another function, which was. `path`: of a file that has the bytes and will keep them
   */
  put (source, { signal, onProgress, tag, format = 'raw' }, { cid, alias, path } = {}) {
    // What is in memory does not keep anybody waiting.
    const closing = source instanceof Uint8Array ? undefined : new AbortController()
    return this.#activity.run(async () => {
      assertFormat(format)
      if (tag instanceof TempTag) tag.assertOf(this.#protection)
      else if (tag !== undefined) assertName('tag', tag)
      const id = await this.#databases.ids.newId()
      const blob = new IncomingBlob(this.#databases, id, { isElsewhere: path !== undefined })
      let release = () => {}
      try {
        for await (const piece of toPieces(source, { signal: eitherOf(signal, closing?.signal), onProgress, type: 'baobox:put' })) {
          await blob.write(piece)
          if (path === undefined && blob.size > this.#quota.limit) throw full(blob.size, this.#quota.limit)
        }
        const root = blob.root()
        if (cid !== undefined && !equals(cid.multihash.digest, root)) throw mismatch(cid)
        release = this.#protection.use(root)
        if (tag instanceof TempTag) tag.add(root, { format })
        const tagging = typeof tag === 'string' ? { name: tag, root, format } : undefined
        const room = await this.#evictor.reserve(root, present => path === undefined ? blob.size - rangesLen(present, blob.size) : 0)
        try {
          return await this.#locks.run(nameOf(root), () => this.#adopt(id, root, blob, { room, tagging, alias, path, signal }))
        } finally {
          room.release()
        }
      } catch (error) {
        await this.#giveUp(id, blob)
        throw error
      } finally {
        release()
        if (!blob.mayBeRecorded) this.#databases.ids.settle(id)
      }
    }, closing && (reason => closing.abort(reason)))
  }

  /**
   * Makes a written blob one that can be seen, unless it is here already. Under the blob's lock.
   *
   * @param {number} id @param {Uint8Array} root @param {IncomingBlob} blob
   * @param {{ room: Room, tagging?: Tag, alias?: Uint8Array, path?: string, signal?: AbortSignal }} options  `tagging`: the tag that it is to have
   */
  async #adopt (id, root, blob, { room, tagging, alias, path, signal }) {
    const { isThere, record: before } = await this.#catalog.look(root)
    const result = { cid: toCid(root), size: blob.size, isNew: !before?.complete }
    if (before?.complete && (isKept(before) || path !== undefined)) {
      if (tagging !== undefined) await this.#tags.set(tagging)
      this.#protection.arrived(root)
      await this.#discard(id, blob)
      await this.#catalog.addName(root, before, alias)
      this.#catalog.touch(root)
      return result
    }
    // First the data, then the record that says it is there: the order is what makes two databases one truth.
    await blob.finish()
    signal?.throwIfAborted()
    // What was being received, or had been damaged, may have been wanted under its own name.
    const isNameless = alias !== undefined && (!isThere || before?.isNameless === true)
    const record = { id, size: blob.size, sizeProven: true, complete: true, home: blob.home, created: Date.now(), isNameless }
    const lenBefore = before === undefined ? 0 : await this.#presence.len(root, before)
    /** @param {Operation[]} [also] */
    const write = also => {
      blob.mayBeRecorded = true
      return this.#catalog.write(root, record, { sync: true, replaces: before, alias, path, also })
    }
    await (tagging === undefined ? write() : this.#tags.set(tagging, write))
    room.fill((path === undefined ? record.size : 0) - lenBefore)
    this.#protection.arrived(root)
    this.#presence.forget(root)
    blob.mayBeRecorded = false // it is
    return result
  }

  /** Leaves nothing of a blob whose put has failed. @param {number} id @param {IncomingBlob} blob */
  async #giveUp (id, blob) {
    if (!blob.mayBeRecorded) return this.#discard(id, blob)
    await blob.settle()
    this.#activity.leave()
  }

  /** Deletes what was written of a blob that nobody has seen. @param {number} id @param {IncomingBlob} blob */
  async #discard (id, blob) {
    await blob.settle()
    if (!blob.isWritten) return
    try {
      await this.#databases.deleteData(id)
    } catch {
      this.#activity.leave()
    }
  }
}
