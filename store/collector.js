// Garbage collection: what nothing protects is found, and forgotten.
//
// Marks are made first and swept by afterwards, while the store is in use. What becomes protected in between is told to the marks
// (protection.js), and looked at once more in the moment in which a blob is forgotten, under its lock. What loses its protection
// meanwhile stays until the next time.

import { toCid } from '../lib/cid.js'
import { Marks } from './marks.js'
import { nameOf } from './catalog.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobReader } from './reader.js' */
/** @import { BlobRecord } from './keys.js' */
/** @import { Catalog } from './catalog.js' */
/** @import { Locks } from './locks.js' */
/** @import { Presence } from './presence.js' */
/** @import { Protection } from './protection.js' */
/** @import { TagIndex } from './tag-index.js' */

/**
 * @typedef {object} GcOptions
 * @property {boolean} [dryRun]  forget nothing, only say what would be
 * @property {(blob: { cid: CID, bytes: number }) => void} [onBlob]  told of every blob that is forgotten
 * @property {AbortSignal} [signal]
 * @property {(progress: { type: string, detail: { done: number } }) => void} [onProgress]  `baobox:gc`, with the number of blobs that were looked at
 */

/** Blobs that are forgotten before their data is deleted: that needs the disk to have caught up. */
const FORGOTTEN_COUNT = 256
/** Blobs from one report of progress to the next. */
const PROGRESS_STEP = 1000

export class Collector {
  #store

  /** @param {{ catalog: Catalog, locks: Locks, presence: Presence, protection: Protection, reader: BlobReader, tags: TagIndex }} store */
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
        for await (const { root, record, hasAliases } of this.unprotected(marks)) {
          signal?.throwIfAborted()
          const bytes = dryRun ? await this.#store.presence.len(root, record) : await sweep.forget(root, { hasAliases, signal })
          if (bytes !== undefined) {
            freed.blobs++
            freed.bytes += bytes
            onBlob?.({ cid: toCid(root), bytes })
          }
          if (++done % PROGRESS_STEP === 0) onProgress?.({ type: 'baobox:gc', detail: { done } })
        }
      } finally {
        end()
        await sweep.end()
      }
      onProgress?.({ type: 'baobox:gc', detail: { done } })
      return freed
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

  /** Blobs that nothing protects, in the order of their hashes. A damaged record is not ours to judge. @param {Marks} marks */
  async * unprotected (marks) {
    const { catalog, protection, tags } = this.#store
    const tagged = tags.beside()
    const aliased = catalog.aliases.beside()
    try {
      for await (const { root, record } of catalog.entries()) {
        if (root === undefined || record === undefined) continue
        const name = nameOf(root)
        if (marks.has(name) || protection.isHeld(name) || await tagged.find(root)) continue
        // Who gives it an alias later protects it by that.
        yield { root, record, hasAliases: await aliased.find(root) !== undefined }
      }
    } finally {
      await Promise.all([tagged.close(), aliased.close()])
    }
  }

  /** @param {Marks} marks */
  sweep (marks) { return new Sweep(this.#store, marks) }
}

/** Forgets blobs one by one, and deletes their data many at a time. */
export class Sweep {
  #store
  #marks
  #forgotten = /** @type {BlobRecord[]} */ ([])

  /** @param {{ catalog: Catalog, locks: Locks, protection: Protection }} store @param {Marks} marks */
  constructor (store, marks) {
    this.#store = store
    this.#marks = marks
  }

  /**
   * Forgets a blob, unless it is protected by now.
   *
   * @param {Uint8Array} root
   * @param {{ hasAliases?: boolean, isMeant?: (record: BlobRecord) => Promise<boolean>, signal?: AbortSignal }} [options]  `isMeant`: a last
   *   look at the blob
   * @returns {Promise<number | undefined>} bytes that were here; undefined when it stays, or is gone already
   */
  async forget (root, { hasAliases, isMeant, signal } = {}) {
    const { catalog, locks } = this.#store
    const forgotten = await locks.run(nameOf(root), async () => {
      const { record } = await catalog.look(root)
      if (record === undefined || !(await isMeant?.(record) ?? true)) return undefined
      const removal = await catalog.removal(root, record, { hasAliases })
      await this.#marks.settle(signal)
      // From here on nothing is awaited until the deletion is under way: who protects the blob later finds it gone.
      if (!this.isFree(root)) return undefined
      await catalog.forget(removal, { sync: false })
      return { record, bytes: removal.bytes }
    })
    if (forgotten === undefined) return undefined
    this.#forgotten.push(forgotten.record)
    if (this.#forgotten.length >= FORGOTTEN_COUNT) await this.end()
    return forgotten.bytes
  }

  /** Has nothing come to protect a blob since the marks were made? @param {Uint8Array} root */
  isFree (root) {
    return !this.#marks.has(nameOf(root)) && !this.#store.protection.isHeld(nameOf(root))
  }

  /** Deletes the data of what was forgotten. */
  end () { return this.#store.catalog.deleteForgotten(this.#forgotten.splice(0)) }
}
