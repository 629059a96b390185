// Garbage collection: what nothing protects is found, and forgotten.
//
// Marks are made first and swept by afterwards, while the store is in use. What becomes protected in between is told to the marks
// (protection.js), and looked at once more in the moment in which a blob is forgotten, under its lock. What loses its protection
// meanwhile stays until the next time.

import { toCid } from '../../lib/hash/cid.js'
import { Marks } from './marks.js'
import { nameOf } from '../catalog/roots.js'
import { sweepOrphansInUse } from '../storage/opening/orphan-sweep.js'
import { BATCH_ENTRIES } from '../storage/level/walk.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { StoreContext } from '../blob-store.js' */

/**
 * @typedef {object} GcOptions
 * @property {boolean} [dryRun]  forget nothing, only say what would be
 * @property {(blob: { cid: CID, bytes: number }) => void} [onBlob]  told of every blob that is forgotten
 * @property {AbortSignal} [signal]
 * @property {(progress: { type: string, detail: { done: number } }) => void} [onProgress]  `baobox:gc`, with the number of blobs that were looked at
 */

/** @typedef {{ root: Uint8Array, record: BlobRecord, hasAliases: boolean }} Unprotected */

/** Blobs from one report of progress to the next. */
const PROGRESS_STEP = 1000

export class Collector {
  #store

  /** @param {StoreContext} store */
  constructor (store) {
    this.#store = store
  }

  /** @param {GcOptions} [options]  see `BlobStore.gc` */
  gc ({ dryRun = false, onBlob, signal, onProgress } = {}) {
    return this.#store.locks.run('gc', async () => {
      signal?.throwIfAborted()
      const freed = { blobs: 0, bytes: 0 }
      const { marks, end } = await this.mark(signal)
      const sweep = this.sweep(marks)
      let done = 0
      try {
        for await (const blobs of this.unprotected(marks)) {
          signal?.throwIfAborted()
          const gone = dryRun ? this.#lens(blobs) : await sweep.forget(blobs, { signal })
          for await (const { root, bytes } of gone) {
            // What is gone is told, also after the signal.
            if (dryRun) signal?.throwIfAborted()
            freed.blobs++
            freed.bytes += bytes
            onBlob?.({ cid: toCid(root), bytes })
          }
          for (const { length } = blobs, before = done; done < before + length;) {
            if (++done % PROGRESS_STEP === 0) onProgress?.({ type: 'baobox:gc', detail: { done } })
          }
          signal?.throwIfAborted()
        }
      } finally {
        end()
      }
      if (!dryRun) await sweepOrphansInUse(this.#store.databases, signal)
      onProgress?.({ type: 'baobox:gc', detail: { done } })
      return freed
    })
  }

  /**
   * Deletes what no record names, and has the databases give back to the disk what was deleted.
   *
   * @param {{ signal?: AbortSignal }} [options]  see `BlobStore.compact`
   */
  compact ({ signal } = {}) {
    const { databases, locks } = this.#store
    return locks.run('gc', async () => {
      signal?.throwIfAborted()
      await sweepOrphansInUse(databases, signal)
      await databases.compact()
    })
  }

  /**
   * Finds out what is protected. The marks hold until `end` is called.
   *
   * @param {AbortSignal} [signal]
   * @throws {BaoError} STORE_CORRUPT when that cannot be told
   */
  async mark (signal) {
    const { protection, tags } = this.#store
    const marks = new Marks(this.#store)
    const end = protection.watch(marks)
    try {
      for (const root of [...protection.sequences, ...await tags.sequences()]) marks.keep(root, 'hashseq')
      await marks.settle(signal)
      return { marks, end }
    } catch (error) {
      end()
      throw error
    }
  }

  /** What a collection would free. @param {Unprotected[]} blobs */
  async * #lens (blobs) {
    for (const { root, record } of blobs) yield { root, bytes: await this.#store.presence.len(record) }
  }

  /**
   * Finds the blobs that nothing protects, in the order of their hashes. A damaged record is left to `fsck`.
   *
   * @param {Marks} marks
   * @returns {AsyncGenerator<Unprotected[]>} in batches, of which none is empty
   */
  async * unprotected (marks) {
    const { catalog, protection, tags } = this.#store
    const tagged = tags.inOrder()
    const aliased = catalog.aliases.inOrder()
    try {
      let found = []
      for await (const batch of catalog.entryBatches()) {
        for (const { root, record } of batch) {
          if (root === undefined || record === undefined) continue
          const name = nameOf(root)
          if (marks.has(name) || protection.isHeld(name) || await tagged.find(root)) continue
          // A caller that gives it an alias later protects it by that.
          found.push({ root, record, hasAliases: await aliased.find(root) !== undefined })
        }
        // Each batch costs its reader a write that waits for the disk.
        if (found.length < BATCH_ENTRIES) continue
        yield found
        found = []
      }
      if (found.length > 0) yield found
    } finally {
      await Promise.all([tagged.close(), aliased.close()])
    }
  }

  /** @param {Marks} marks */
  sweep (marks) { return new Sweep(this.#store, marks) }
}

/** Forgets blobs, unless they have become protected since the marks were made, and deletes their data. */
export class Sweep {
  #store
  #marks

  /** @param {StoreContext} store @param {Marks} marks */
  constructor (store, marks) {
    this.#store = store
    this.#marks = marks
  }

  /**
   * Forgets those of these blobs that nothing protects by now, in one write.
   *
   * @template {{ root: Uint8Array, hasAliases?: boolean }} Blob
   * @param {Blob[]} blobs  as many as may be locked together
   * @param {object} [options]
   * @param {(blob: Blob, record: BlobRecord) => Promise<boolean>} [options.isMeant]  a last look at a blob
   * @param {AbortSignal} [options.signal]
   * @returns {Promise<{ root: Uint8Array, bytes: number }[]>} what is gone, in the same order, with the bytes that were
   *   here
   */
  async forget (blobs, { isMeant, signal } = {}) {
    const { catalog, locks } = this.#store
    const forgotten = await locks.runAll(blobs.map(({ root }) => nameOf(root)), async () => {
      const removals = []
      for (const [i, { record }] of (await catalog.lookMany(blobs.map(({ root }) => root))).entries()) {
        const { root, hasAliases } = blobs[i]
        if (record === undefined || !(await isMeant?.(blobs[i], record) ?? true)) continue
        removals.push(await catalog.removal(root, record, { hasAliases }))
      }
      await this.#marks.settle(signal)
      // From here on nothing is awaited until the deletion is under way: who protects a blob later finds it gone.
      const free = removals.filter(({ root }) => this.isFree(root))
      await catalog.commit(free, { deletesData: false })
      return free
    })
    await catalog.deleteData(forgotten)
    return forgotten.map(({ root, gained }) => ({ root, bytes: 0 - gained }))
  }

  /** Has nothing come to protect a blob since the marks were made? @param {Uint8Array} root */
  isFree (root) {
    return !this.#marks.has(nameOf(root)) && !this.#store.protection.isHeld(nameOf(root))
  }
}
