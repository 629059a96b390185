// Knows which blobs share a file. When the last of them is deleted, the file is deleted. When the longest of them is
// deleted, the file is cut off after the end of the next longest.
//
// A base is an id that does not belong to any blob. Under it, the store keeps the file, and the pairs that are the same
// in all sharers of the file. The index has an entry for each sharer, which is written and deleted together with the
// sharer's record. Once read, the entries stay in memory, and every commit changes them there. So a commit knows which
// data it gives up without reading anything.

import { allSharers, allSharersOf, placeOfSharer, sharerKey } from '../format/keys.js'
import { encodeSharer } from '../format/records.js'
import { readEntries } from '../level/entries.js'

/** @import { Change } from '../../catalog/catalog.js' */
/** @import { Databases, GivenUpData } from '../databases.js' */
/** @import { BlobRecord } from '../format/records.js' */
/** @import { Operation } from '../level/safe-database.js' */

/**
 * @typedef {object} Base
 * @property {number[]} sizes  of the sharers, in bytes, from the shortest to the longest
 * @property {number} leaving  how many deletions of sharers are being written; these writes may still fail
 * @property {boolean} isGone  true if all sharers and the file were deleted
 * @property {boolean} isInDoubt  true if the base may have unknown sharers. Then neither the file nor a part of it is
 *   given up while the store is open
 */

export class Bases {
  #databases
  /** The bases that were read, until their last sharers are deleted. */
  #known = /** @type {Map<number, Base>} */ (new Map())
  #reading = /** @type {Map<number, Promise<void>>} */ (new Map())
  /** The effects of applied changes on bases. */
  #effects = /** @type {WeakMap<Change, Effect>} */ (new WeakMap())
  /** Bases whose files are being written to or cut off. */
  #locked = /** @type {Set<number>} */ (new Set())

  /** @param {Databases} databases */
  constructor (databases) {
    this.#databases = databases
  }

  /**
   * Reads the sharers of the bases of some records. Callers do this before they change the records.
   *
   * @param {(OfBase | undefined)[]} records
   */
  async load (records) {
    for (const { base } of ofBases(records)) if (!this.#known.has(base)) await this.#loadOnce(base)
  }

  /**
   * Returns true if the bases of all these records are in memory, so that `load` would not read anything.
   *
   * @param {(OfBase | undefined)[]} records
   */
  knows (records) { return ofBases(records).every(({ base }) => this.#known.has(base)) }

  /** @param {number} base @returns {Promise<void>} */
  #loadOnce (base) {
    const reading = this.#reading.get(base) ?? this.#read(base).finally(() => this.#reading.delete(base))
    this.#reading.set(base, reading)
    return reading
  }

  /** @param {number} base */
  async #read (base) {
    const known = { sizes: /** @type {number[]} */ ([]), leaving: 0, isGone: false, isInDoubt: false }
    const onDamage = () => { known.isInDoubt = true }
    for await (const entries of readEntries(this.#databases.index, allSharersOf(base), onDamage)) {
      for (const [key] of entries) {
        const size = placeOfSharer(key)?.size
        if (size === undefined) onDamage()
        else known.sizes.push(size)
      }
    }
    // The bytes after the longest known sharer may belong to another one, whose entry damage hides.
    const longest = known.sizes.at(-1) ?? Infinity
    if ((await this.#databases.files?.len(base) ?? 0) > longest) onDamage()
    this.#known.set(base, known)
  }

  /**
   * Locks the file of a base. Callers do this before they write to the file or cut it off. If another call deletes the
   * base during the lock, the note of the deletion stays until the lock ends.
   *
   * @param {number} base
   * @returns {boolean} false when another caller has locked it
   */
  tryLock (base) {
    if (this.#locked.has(base)) return false
    this.#locked.add(base)
    this.#databases.keepNote(base)
    return true
  }

  /**
   * Ends a lock, and cuts off the bytes that no longer belong to a sharer.
   *
   * @param {number} base
   * @param {{ freesNote?: boolean }} [options]  `freesNote`: false to keep the note of the base's deletion until the
   *   store is opened again. Default: true
   */
  async unlock (base, { freesNote = true } = {}) {
    try {
      await this.#cutOffAfterLongest(base)
    } finally {
      this.#locked.delete(base)
      if (freesNote) this.#databases.freeNote(base)
      this.#forgetUnused(base)
    }
  }

  /**
   * Forgets a base that has no sharers, unless it is in doubt or locked. The caller that has locked it must still learn
   * whether the base is gone.
   *
   * @param {number} base
   */
  #forgetUnused (base) {
    const known = this.#known.get(base)
    if (known === undefined || known.sizes.length > 0 || known.leaving > 0) return
    if (!known.isInDoubt && !this.#locked.has(base)) this.#known.delete(base)
  }

  /** Cuts off the file of a base after its longest sharer, unless the base is locked. @param {number} base */
  async cutOff (base) { if (this.tryLock(base)) await this.unlock(base) }

  /** @param {number} base */
  async #cutOffAfterLongest (base) {
    // The longest sharer may be deleted while the file is being cut off.
    for (let len; this.#mayCutOff(base) && len !== this.longest(base);) {
      len = this.longest(base)
      await this.#databases.files?.cutOff(base, len)
    }
  }

  /** @param {number} base */
  #mayCutOff (base) {
    const known = this.#known.get(base)
    return known !== undefined && known.sizes.length > 0 && known.leaving === 0 && !known.isInDoubt
  }

  /**
   * Cuts off the bytes that a crash has left after the longest sharers. Called when a store is opened.
   *
   * @param {Map<number, number>} lens  length of the longest sharer of each base, in bytes
   * @param {{ isCertain: () => Promise<boolean>, signal?: AbortSignal }} options  `isCertain`: returns true if the
   *   index does not hide any sharer; called only if there is something to cut off
   */
  async cutOffAll (lens, { isCertain, signal }) {
    const { files } = this.#databases
    if (files === undefined) return
    const tooLong = []
    for (const [base, longest] of lens) {
      signal?.throwIfAborted()
      if ((await files.len(base) ?? 0) > longest) tooLong.push({ base, longest })
    }
    if (tooLong.length === 0 || !await isCertain()) return
    for (const { base, longest } of tooLong) await files.cutOff(base, longest)
  }

  /**
   * Returns true if no other sharer of the base is longer than this blob. `load` must have read the base.
   *
   * @param {BlobRecord} record  of a blob in a file of the store
   */
  isLongest (record) {
    const sharer = sharerOf(record)
    return sharer === undefined || this.longest(sharer.base) === sharer.size
  }

  /** Returns true if all sharers and the file were deleted. @param {number} base */
  isGone (base) { return this.#known.get(base)?.isGone ?? false }

  /** Bytes of the longest sharer; 0 if there is none. `load` must have read the base. @param {number} base */
  longest (base) { return this.#known.get(base)?.sizes.at(-1) ?? 0 }

  /** Returns how many bytes the files of all bases have. */
  async len () {
    let [sum, last] = [0, { base: -1, size: 0 }]
    for await (const entries of readEntries(this.#databases.index, allSharers)) {
      for (const [key] of entries) {
        const place = placeOfSharer(key)
        if (place === undefined) continue
        if (place.base === last.base) sum -= last.size
        sum += place.size
        last = place
      }
    }
    return sum
  }

  /**
   * Applies changes of records. `load` must have read the bases. After the write, callers must call `confirm` or
   * `noteFailedWrite`.
   *
   * @param {Change[]} changes
   * @returns {Operation[]} for the index; callers write them in the same batch as the changes
   */
  apply (changes) {
    const operations = /** @type {Operation[]} */ ([])
    /** The bases that sharers leave. When several changes leave one base, the first of them gives it up. */
    const left = /** @type {Map<number, Effect>} */ (new Map())
    for (const change of changes) {
      const { root, before, after } = change
      const [from, to] = [sharerOf(before), sharerOf(after)]
      if (from?.base === to?.base && from?.id === to?.id && from?.size === to?.size) continue
      const effect = /** @type {Effect} */ ({ from, to, isBaseGone: false })
      this.#effects.set(change, effect)
      if (to !== undefined) {
        change.gained += this.#add(to)
        const key = sharerKey(to.base, to.size)
        operations.push({ type: 'put', key, value: encodeSharer(key, { root, id: to.id }) })
      }
      if (from !== undefined) {
        change.gained += this.#remove(from)
        if (!left.has(from.base)) left.set(from.base, effect)
        operations.push({ type: 'del', key: sharerKey(from.base, from.size) })
      }
    }
    for (const [base, effect] of left) effect.isBaseGone = this.#isUnshared(base)
    for (const base of left.keys()) this.#of(base).leaving++
    return operations
  }

  /**
   * Notes that changes were written. If several writes delete sharers at the same time, the last to be confirmed gives
   * up the base.
   *
   * @param {Change[]} changes
   */
  confirm (changes) {
    const effects = this.#effectsOf(changes)
    for (const base of basesLeft(effects)) this.#of(base).leaving--
    for (const effect of effects) {
      if (effect.from === undefined) continue
      const { base } = effect.from
      effect.isBaseGone ||= this.#isUnshared(base)
      if (effect.isBaseGone) this.#of(base).isGone = true
    }
    for (const base of basesLeft(effects)) this.#forgetUnused(base)
  }

  /**
   * Notes that the write of changes has failed. The write may have reached the disk all the same. The bases of these
   * changes keep their files until the store is opened again.
   *
   * @param {Change[]} changes  that `apply` has applied
   * @returns {boolean} true if any of them touches a base
   */
  noteFailedWrite (changes) {
    const effects = this.#effectsOf(changes)
    for (const base of basesLeft(effects)) this.#of(base).leaving--
    for (const { from, to } of effects) {
      if (from !== undefined) this.#add(from)
      if (to !== undefined) this.#remove(to)
    }
    for (const { base } of ofBases(effects.flatMap(({ from, to }) => [from, to]))) {
      this.#of(base).isInDoubt = true
      this.#databases.ids.keepUnderWay(base)
    }
    return effects.length > 0
  }

  /**
   * Returns the data of the bases that applied changes have given up because the last sharer is gone.
   *
   * @param {Change[]} changes @returns {GivenUpData[]}
   */
  givenUpBy (changes) {
    return this.#effectsOf(changes).flatMap(({ from, isBaseGone }) => from && isBaseGone ? [{ id: from.base }] : [])
  }

  /**
   * Cuts off the files of the bases from which written changes have removed some sharers, but not all.
   *
   * @param {Change[]} changes @param {() => void} onFailure  called for each file that could not be cut off
   */
  async cutOffAfter (changes, onFailure) {
    for (const { from, isBaseGone } of this.#effectsOf(changes)) {
      if (from !== undefined && !isBaseGone) await this.cutOff(from.base).catch(onFailure)
    }
  }

  /** Returns the effects of applied changes on bases; most changes have none. @param {Change[]} changes */
  #effectsOf (changes) { return changes.flatMap(change => this.#effects.get(change) ?? []) }

  /** Returns true if the base certainly has no sharer left. @param {number} base */
  #isUnshared (base) {
    const { sizes, leaving, isGone, isInDoubt } = this.#of(base)
    return sizes.length === 0 && leaving === 0 && !isGone && !isInDoubt
  }

  /** @param {number} base */
  #of (base) {
    const known = this.#known.get(base)
    if (known === undefined) throw new Error(`base ${base} was changed before it was loaded`)
    return known
  }

  /** @param {Pick<Sharer, 'base' | 'size'>} sharer @returns {number} how many bytes longer the longest sharer is now */
  #add ({ base, size }) {
    const { sizes } = this.#of(base)
    const before = this.longest(base)
    const at = sizes.findLastIndex(other => other < size) + 1
    if (sizes[at] !== size) sizes.splice(at, 0, size)
    return this.longest(base) - before
  }

  /** @param {Pick<Sharer, 'base' | 'size'>} sharer @returns {number} as for `#add`, so 0 or negative */
  #remove ({ base, size }) {
    const { sizes } = this.#of(base)
    const before = this.longest(base)
    removeFrom(sizes, size)
    return this.longest(base) - before
  }

  /**
   * Adds a sharer whose entry was lost. `load` must have read the base.
   *
   * @param {Uint8Array} root @param {BlobRecord} record
   * @returns {{ operation: Operation, gained: number }} `operation`: writes the entry; `gained`: by how many bytes the
   *   longest known sharer is longer than before
   */
  restore (root, record) {
    const { base, id, size } = /** @type {Sharer} */ (sharerOf(record))
    const key = sharerKey(base, size)
    const operation = { type: /** @type {const} */ ('put'), key, value: encodeSharer(key, { root, id }) }
    return { operation, gained: this.#add({ base, size }) }
  }

  /**
   * Removes a sharer that no record matches. `load` must have read the base.
   *
   * @param {number} base @param {number} size
   * @returns {{ operation: Operation, gained: number }} `operation`: deletes the entry; `gained`: by how many bytes the
   *   longest known sharer is longer than before; 0 or negative
   */
  drop (base, size) {
    return { operation: { type: 'del', key: sharerKey(base, size) }, gained: this.#remove({ base, size }) }
  }

  /** Counts the bytes that a series of deletions would free, without deleting anything. */
  trial () {
    const bases = /** @type {Map<number, number[]>} */ (new Map())
    return {
      /** @param {BlobRecord} record @returns {Promise<number>} bytes */
      countFreedBytes: async record => {
        const sharer = sharerOf(record)
        if (sharer === undefined) return 0
        await this.load([sharer])
        const sizes = bases.get(sharer.base) ?? [...this.#known.get(sharer.base)?.sizes ?? []]
        bases.set(sharer.base, sizes)
        const before = sizes.at(-1) ?? 0
        removeFrom(sizes, sharer.size)
        return before - (sizes.at(-1) ?? 0)
      }
    }
  }
}

/** @typedef {{ base: number, id: number, size: number }} Sharer */
/** @typedef {{ base?: number }} OfBase  a record, or only its base */

/**
 * The effect of a change on bases.
 *
 * @typedef {object} Effect
 * @property {Sharer} [from]  the sharer that the change removes
 * @property {Sharer} [to]  the sharer that the change adds
 * @property {boolean} isBaseGone  true if the base of `from` has lost its last sharer, so that its data is deleted
 */

/** @param {number[]} sizes @param {number} size  need not be among them */
function removeFrom (sizes, size) {
  const at = sizes.lastIndexOf(size)
  if (at >= 0) sizes.splice(at, 1)
}

/** Returns the bases that sharers leave. @param {Effect[]} effects */
const basesLeft = effects => new Set(effects.flatMap(({ from }) => from?.base ?? []))

/** @param {(OfBase | undefined)[]} records @returns {{ base: number }[]} those that have a base */
const ofBases = records => records.flatMap(record => record?.base === undefined ? [] : [{ base: record.base }])

/** @param {BlobRecord} [record] @returns {Sharer | undefined} undefined for a blob that does not share a file */
export const sharerOf = record => record?.home === 'shared'
  ? { base: /** @type {number} */ (record.base), id: record.id, size: record.size }
  : undefined
