// Collects garbage: finds the blobs that nothing protects, and deletes them.
//
// It first marks the protected blobs, and then sweeps the others, while the store is in use. Blobs that become
// protected during the collection are added to the marks (protection.js). Before the sweep deletes a blob, it checks
// the marks again under the blob's lock. A blob that loses its protection after it was marked stays until the next
// collection.

import { BaoError } from '../../lib/core/errors.js'
import { HASH_LEN } from '../../lib/core/constants.js'
import { concat } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { toCid } from '../../lib/hash/cid.js'
import { HashSet } from '../../lib/core/hash-set.js'
import { damagedSequence, hiddenSequence } from '../storage/errors.js'
import { nameOf, rootOf } from '../../lib/hash/roots.js'
import { BATCH_ENTRIES } from '../storage/level/entries.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { TagFormat } from '../storage/format/tags.js' */
/** @import { Locks } from '../../lib/async/locks.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { AliasIndex } from '../catalog/names/alias-index.js' */
/** @import { TagIndex } from '../catalog/names/tag-index.js' */
/** @import { Presence } from '../catalog/presence.js' */
/** @import { Uses } from '../catalog/uses.js' */
/** @import { Orphans } from '../check/orphans.js' */
/** @import { BlobAccess } from '../read/blob-access.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { Protection } from './protection.js' */
/** @import { Bases } from '../storage/content/bases.js' */

/**
 * @typedef {object} GcOptions
 * @property {boolean} [dryRun]  delete nothing, and only report which blobs would be deleted. It does not look at
 *   orphans. So if a tagged sequence has lost its record, this also reports its members, which `gc` keeps if it finds
 *   the sequence among the orphans. Default: false
 * @property {boolean} [compact]  at the end, give the space of deleted blobs back to the disk, as `compact` does.
 *   Without this, LevelDB gives the space back later, when it rewrites its files. Default: false
 * @property {(blob: { cid: CID, bytes: number }) => void} [onBlob]  called for every deleted blob
 * @property {AbortSignal} [signal]
 * @property {(progress: { type: string, detail: { done: number, unit: 'blobs' } }) => void} [onProgress]  gets
 *   `baobox:gc`, with the number of blobs that were checked
 */

/** The names of all options in `GcOptions`. */
const GC_OPTIONS = ['dryRun', 'compact', 'onBlob', 'signal', 'onProgress']

/** @typedef {{ root: Uint8Array, record: BlobRecord, hasAliases: boolean, noUseAsOfFlush?: number }} Unprotected */

/** Blobs between two reports of progress. */
const PROGRESS_STEP = 1000
/** The maximum number of hashes that are looked up together. */
const LOOKUP_HASHES = 512

/**
 * @typedef {object} CollectorParts
 * @property {BlobAccess} access
 * @property {AliasIndex} aliases
 * @property {Catalog} catalog
 * @property {Databases} databases
 * @property {Locks} locks
 * @property {Orphans} orphans
 * @property {Presence} presence
 * @property {Protection} protection
 * @property {TagIndex} tags
 * @property {Uses} uses
 */

export class Collector {
  #access
  #aliases
  #catalog
  #databases
  #locks
  #orphans
  #presence
  #protection
  #tags
  #uses

  /** @param {CollectorParts} parts */
  constructor ({ access, aliases, catalog, databases, locks, orphans, presence, protection, tags, uses }) {
    this.#access = access
    this.#aliases = aliases
    this.#catalog = catalog
    this.#databases = databases
    this.#locks = locks
    this.#orphans = orphans
    this.#presence = presence
    this.#protection = protection
    this.#tags = tags
    this.#uses = uses
  }

  /** @param {GcOptions} given  see `BlobStore.gc` */
  gc (given) {
    assertKnownOptions(given, GC_OPTIONS)
    const { compact = false, ...options } = given
    return this.#locks.run('gc', async () => {
      const freed = await this.#collect(options)
      if (compact && !options.dryRun) await this.#compact(options.signal)
      return freed
    })
  }

  /** @param {Omit<GcOptions, 'compact'>} options */
  async #collect ({ dryRun = false, onBlob, signal, onProgress }) {
    if (!dryRun) this.#databases.assertWritable()
    signal?.throwIfAborted()
    const freed = { blobs: 0, bytes: 0 }
    const { marks, end } = await this.mark(signal, async () => {
      // A damaged table may hide a tag.
      await this.#databases.assertTablesSound({ names: ['index'], signal })
    })
    const sweep = this.sweepBy(marks)
    const trial = this.#catalog.bases.trial()
    let done = 0
    let deleting = Promise.resolve()
    try {
      if (!dryRun) await this.sweepOrphans(marks, signal)
      for await (const blobs of this.unprotected(marks)) {
        signal?.throwIfAborted()
        const { gone, deletion } =
            dryRun ? { gone: this.#lens(blobs, trial), deletion: deleting } : await sweep.forget(blobs, { signal })
        // The data of the previous batch was being deleted while this batch was gathered. Wait for that deletion.
        await deleting
        deleting = deletion
        for await (const { root, bytes } of gone) {
          // Report all deleted blobs, even after the signal is aborted.
          if (dryRun) signal?.throwIfAborted()
          freed.blobs++
          freed.bytes += bytes
          onBlob?.({ cid: toCid(root), bytes })
        }
        for (const { length } = blobs, before = done; done < before + length;) {
          if (++done % PROGRESS_STEP === 0) onProgress?.({ type: 'baobox:gc', detail: { done, unit: 'blobs' } })
        }
        signal?.throwIfAborted()
      }
      // A weak tag ends when its blob is deleted, so sweep the tags after the blobs.
      if (!dryRun) await this.#tags.sweepEnded(signal)
    } finally {
      await deleting
      end()
    }
    onProgress?.({ type: 'baobox:gc', detail: { done, unit: 'blobs' } })
    return freed
  }

  /**
   * Deletes data that no record names, and gives the space of deleted data back to the disk.
   *
   * @param {{ signal?: AbortSignal }} [options]  see `BlobStore.compact`
   */
  compact ({ signal } = {}) {
    return this.#locks.run('gc', async () => {
      this.#databases.assertWritable()
      signal?.throwIfAborted()
      await this.#compact(signal, () => this.#orphans.sweep(signal))
    })
  }

  /** @param {AbortSignal} [signal] @param {() => Promise<unknown>} [before]  runs after the tables were checked */
  async #compact (signal, before) {
    await this.#databases.assertTablesSound({ checksOrder: true, signal }) // LevelDB reads all tables.
    await before?.()
    await this.#databases.compact()
  }

  /**
   * Marks the protected blobs. The marks are kept up to date until the caller calls `end`.
   *
   * @param {AbortSignal} [signal]
   * @param {() => Promise<void>} [beforeTags]  runs before the tags are read, and may throw to end the collection.
   *   A sequence that has a temporary tag when `mark` is called stays marked, even if the tag is released before then
   * @throws {BaoError} STORE_CORRUPT when damage hides which blobs are protected
   */
  async mark (signal, beforeTags = async () => {}) {
    const protection = this.#protection
    const marks = new Marks({ access: this.#access, catalog: this.#catalog })
    const end = protection.watch(marks)
    for (const root of protection.sequences) marks.keep(root, 'hashseq')
    try {
      await this.#databases.ids.assertStateSound()
      await beforeTags()
      const { sequences, aliases } = await this.#tags.survey()
      for (const root of [...protection.sequences, ...sequences]) marks.keep(root, 'hashseq')
      for (const alias of aliases) {
        const root = await this.#aliases.resolve(alias)
        if (root !== undefined) marks.keep(root, 'raw')
        signal?.throwIfAborted()
      }
      await marks.readSequences(signal)
      return { marks, end }
    } catch (error) {
      end()
      throw error
    }
  }

  /**
   * Sweeps orphans. If a sequence has lost its record, its data is an orphan, and its members are not marked. If the
   * sweep restores the record, the marks learn of it, and mark the members. The caller holds the lock `gc`.
   *
   * @param {Marks} marks @param {AbortSignal} [signal]
   * @throws {BaoError} STORE_CORRUPT when damage hides what is protected
   */
  async sweepOrphans (marks, signal) {
    const isSwept = await this.#orphans.sweep(signal)
    const [sequence] = marks.absentSequences
    if (!isSwept && sequence !== undefined) throw hiddenSequence(rootOf(sequence))
  }

  /**
   * Counts the bytes that a deletion of each blob would free.
   *
   * @param {Unprotected[]} blobs @param {ReturnType<Bases['trial']>} trial
   */
  async * #lens (blobs, trial) {
    for (const { root, record } of blobs) {
      yield { root, bytes: await this.#presence.len(record) + await trial.countFreedBytes(record) }
    }
  }

  /**
   * Finds the blobs that nothing protects, in the order of their hashes. It skips damaged records, which are left to
   * `fsck`.
   *
   * @param {Marks} marks
   * @returns {AsyncGenerator<Unprotected[]>} in batches that are not empty
   */
  async * unprotected (marks) {
    const protection = this.#protection
    const tagged = this.#tags.inOrder()
    const aliased = this.#aliases.inOrder()
    const uses = this.#uses.inOrder()
    try {
      let found = []
      for await (const batch of this.#catalog.entryBatches()) {
        for (const { root, record } of batch) {
          if (root === undefined || record === undefined) continue
          const name = nameOf(root)
          if (marks.has(name) || protection.isHeld(name) || await tagged.isTagged(root)) continue
          // If a later call gives the blob an alias, this call protects the blob.
          const hasAliases = await aliased.find(root) !== undefined
          found.push({ root, record, hasAliases, noUseAsOfFlush: await uses.noUseAsOfFlush(root) })
        }
        // For each batch, the caller makes a write and waits for the disk. So gather a full batch.
        if (found.length < BATCH_ENTRIES) continue
        yield found
        found = []
      }
      if (found.length > 0) yield found
    } finally {
      await Promise.all([tagged.close(), aliased.close(), uses.close()])
    }
  }

  /** Returns a sweep that deletes what these marks do not protect. @param {Marks} marks */
  sweepBy (marks) {
    return new Sweep({ catalog: this.#catalog, locks: this.#locks, protection: this.#protection }, marks)
  }
}

/** Deletes the records and data of blobs, unless they have become protected since the marks were made. */
export class Sweep {
  #catalog
  #locks
  #protection
  #marks

  /** @param {{ catalog: Catalog, locks: Locks, protection: Protection }} parts @param {Marks} marks */
  constructor ({ catalog, locks, protection }, marks) {
    this.#catalog = catalog
    this.#locks = locks
    this.#protection = protection
    this.#marks = marks
  }

  /**
   * Deletes the records of those blobs that nothing protects now, in one write, and begins to delete their data.
   *
   * @template {{ root: Uint8Array, hasAliases?: boolean, noUseAsOfFlush?: number }} Blob
   * @param {Blob[]} blobs  not more than may be locked together
   * @param {object} [options]
   * @param {(blob: Blob, record: BlobRecord) => Promise<boolean>} [options.isMeant]  a last check of each blob: returns
   *   false for a blob that must stay
   * @param {AbortSignal} [options.signal]
   * @returns {Promise<{ gone: { root: Uint8Array, bytes: number }[], deletion: Promise<void> }>} `gone`: the deleted
   *   blobs in the same order, with the number of their bytes that the store had. `deletion` resolves when the data is
   *   deleted, and never rejects
   */
  async forget (blobs, { isMeant, signal } = {}) {
    const catalog = this.#catalog
    const forgotten = await this.#locks.runAll(blobs.map(({ root }) => nameOf(root)), async () => {
      const removals = []
      for (const [i, { record }] of (await catalog.findMany(blobs.map(({ root }) => root))).entries()) {
        const { root, hasAliases, noUseAsOfFlush } = blobs[i]
        if (record === undefined || !(await isMeant?.(blobs[i], record) ?? true)) continue
        removals.push(await catalog.removal(root, record, { hasAliases, noUseAsOfFlush }))
      }
      await this.#marks.readSequences(signal)
      // `commitNow` queues the deletion at once, so a call that protects a blob after this check finds it deleted.
      const free = removals.filter(({ root }) => this.isFree(root))
      await catalog.commitNow(free, { deletesData: false })
      return free
    })
    const gone = forgotten.map(({ root, gained }) => ({ root, bytes: 0 - gained }))
    return { gone, deletion: catalog.deleteData(forgotten) }
  }

  /**
   * Returns true if nothing protects a blob, and nothing has protected it since the marks were made.
   *
   * @param {Uint8Array} root
   */
  isFree (root) {
    return !this.#marks.has(nameOf(root)) && !this.#protection.isHeld(nameOf(root))
  }
}

/** The protected blobs of a collection. These marks are kept up to date during the sweep. */
export class Marks {
  #access
  #catalog
  /** Members of sequences, if the store has them, and blobs that were tagged or have arrived since marking began. */
  #hashes = new HashSet()
  /** The names of the sequences that must still be read. */
  #waiting = /** @type {Set<string>} */ (new Set())
  /** The names of the sequences that had no record when they were read. */
  #absent = /** @type {Set<string>} */ (new Set())
  /**
   * The names of the sequences that were incomplete when they were read. When more of a sequence arrives, it is read
   * again, because it protects more blobs.
   */
  #unfinished = /** @type {Set<string>} */ (new Set())

  /** @param {{ access: BlobAccess, catalog: Catalog }} parts */
  constructor ({ access, catalog }) {
    this.#access = access
    this.#catalog = catalog
  }

  /** The number of hashes in memory. */
  get size () { return this.#hashes.size }

  /** The names of the protected sequences that have no record. Their members are not marked. */
  get absentSequences () { return this.#absent }

  /** @param {string} name  a blob's name in memory */
  has (name) { return this.#hashes.has(name) }

  /** @param {Uint8Array} root @param {TagFormat} format */
  keep (root, format) {
    this.#hashes.add(root)
    if (format === 'hashseq') this.#waiting.add(nameOf(root))
  }

  /** Called when a blob was put, or more of it was received. @param {Uint8Array} root */
  arrived (root) {
    this.keep(root, this.#unfinished.has(nameOf(root)) ? 'hashseq' : 'raw')
  }

  /**
   * Reads the sequences that have not been read yet, and marks their members.
   *
   * @param {AbortSignal} [signal]
   * @throws {BaoError} STORE_CORRUPT
   */
  async readSequences (signal) {
    for (const name of this.#waiting) { // This visits names that are added during the loop, too.
      this.#waiting.delete(name)
      this.#unfinished.add(name)
      let isRead = false
      try {
        isRead = await this.#read(rootOf(name), signal)
      } finally {
        if (!isRead) this.#waiting.add(name)
      }
    }
  }

  /**
   * @param {Uint8Array} root @param {AbortSignal} [signal]
   * @returns {Promise<boolean>} false when the sequence must be read again
   */
  async #read (root, signal) {
    const record = await this.#catalog.get(root)
    if (record === undefined) {
      this.#absent.add(nameOf(root))
      return true
    }
    this.#absent.delete(nameOf(root))
    if (record.isDamaged) throw damagedSequence(root)
    try {
      await this.#markMembers(this.#access.present(root, record, signal))
    } catch (error) {
      // A call has deleted or replaced the sequence, so it must be read again.
      if (error instanceof BaoError && ['STORE_CHANGED', 'STORE_NOT_FOUND'].includes(error.code)) return false
      throw error
    }
    if (record.complete) this.#unfinished.delete(nameOf(root))
    return true
  }

  /**
   * Marks only members that the store has, so that memory grows with the store and not with the length of a sequence.
   * Bytes after the last whole hash do not name a member.
   *
   * @param {AsyncIterable<Uint8Array>} pieces
   */
  async #markMembers (pieces) {
    let rest = new Uint8Array(0)
    for await (const piece of pieces) {
      const bytes = concat([rest, piece])
      const count = Math.floor(bytes.length / HASH_LEN)
      for (let i = 0; i < count; i += LOOKUP_HASHES) {
        const end = Math.min(i + LOOKUP_HASHES, count)
        await this.#markAll(bytes.subarray(i * HASH_LEN, end * HASH_LEN))
      }
      rest = bytes.slice(count * HASH_LEN)
    }
  }

  /** @param {Uint8Array} hashes  joined */
  async #markAll (hashes) {
    const length = hashes.length / HASH_LEN
    const roots = Array.from({ length }, (_, i) => hashes.subarray(i * HASH_LEN, (i + 1) * HASH_LEN))
    for (const root of await this.#catalog.filterRecorded(roots)) this.#hashes.add(root)
  }
}
