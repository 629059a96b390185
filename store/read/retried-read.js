// Continues a failed read once the damaged or missing groups are repaired or fetched. reads.js makes each
// `RetriedRead`, and says who calls whom.

import { BaoError } from '../../lib/core/errors.js'
import { CHUNK_LEN } from '../../lib/core/constants.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { untilAborted } from '../../lib/source/async-util.js'
import { contentOf } from '../storage/content/content-of.js'
import { missing } from '../storage/errors.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { Presence } from '../catalog/presence.js' */
/** @import { DamageNotes } from '../check/damage-notes.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { Supplies } from './supplies.js' */

/** @typedef {AsyncIterable<Uint8Array<ArrayBuffer>>} AnyPieces */

/**
 * @typedef {object} RetryParts
 * @property {Catalog} catalog
 * @property {DamageNotes} damage
 * @property {Databases} databases
 * @property {Presence} presence
 * @property {Supplies} supplies
 */

/**
 * @typedef {object} RetryOptions
 * @property {boolean} notes  true if the read compares bytes with the hash, so that a fault is noted as damage
 * @property {number} [hops]  how many stores have passed the read on
 * @property {AbortSignal} [signal]
 */

/**
 * One read. It gets every group from `supply` at most once, and checks every place at most once. So it ends even if the
 * disk damages the fetched groups, too.
 */
export class RetriedRead {
  #parts
  #root
  #notes
  #hops
  #signal
  /** Groups that were fetched while this read waited for them, or for others. */
  #fetched = ChunkRanges.none
  /** Chunks at which the read failed even though the check afterwards found nothing missing. */
  #checked = /** @type {Set<number>} */ (new Set())

  /**
   * @param {RetryParts} parts
   * @param {Uint8Array} root
   * @param {RetryOptions} options
   */
  constructor (parts, root, { notes, hops, signal }) {
    this.#parts = parts
    this.#root = root
    this.#notes = notes
    this.#hops = hops
    this.#signal = signal
  }

  /**
   * Yields the pieces of a read, and continues after a failure once the damaged or missing groups are back.
   *
   * @param {BlobRecord} record
   * @param {(given: number) => ChunkRanges} wanted  returns the chunks that are still wanted after this many yielded
   *   bytes
   * @param {(record: BlobRecord, given: number) => AnyPieces | Promise<AnyPieces>} read  reads the bytes after the
   *   yielded ones
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  async * pieces (record, wanted, read) {
    let given = 0
    for (let now = record; ;) {
      try {
        for await (const piece of await read(now, given)) {
          given += piece.length
          yield piece
        }
        return
      } catch (error) {
        const next = await this.#recordAfter(error, now, wanted(given))
        if (given > 0 && next.size !== now.size) throw error // The yielded bytes may not fit the rest of the blob.
        now = next
      }
    }
  }

  /**
   * Waits until groups are present.
   *
   * @param {BlobRecord} record @param {ChunkRanges} wanted
   * @returns {Promise<BlobRecord>} the record as it is now
   * @throws {BaoError} STORE_MISSING
   */
  async present (record, wanted) {
    for (let now = record; ;) {
      const lost = await this.#parts.presence.missing(now, wanted)
      if (lost.isEmpty) return now
      now = await this.#recordAfter(missing(this.#root, now.size, lost), now, wanted)
    }
  }

  /**
   * Handles the failure of a read: notes damage, fetches what is lost, and says how the read may continue.
   *
   * @param {unknown} error
   * @param {BlobRecord} seen  the record that the read has used
   * @param {ChunkRanges} wanted  the chunks that the read has not read yet
   * @returns {Promise<BlobRecord>} the record with which the read continues
   * @throws the error, if the read cannot continue. If `supply` has failed to bring the groups, `cause` is the error of
   *   `supply`
   */
  async #recordAfter (error, seen, wanted) {
    const { catalog, databases, presence } = this.#parts
    if (isChanged(error)) {
      const now = await catalog.get(this.#root)
      // The bytes are where they were. A longer blob was made from this one, and both share the bytes now.
      if (now !== undefined && contentOf(databases, this.#root, now).hasFileOf(seen)) return now
    }
    const doubt = chunksInDoubt(error)
    if (doubt === undefined) throw error
    const isFault = /** @type {BaoError} */ (error).code === 'STORE_CORRUPT'
    if (isFault && !this.#notes) throw error
    const groups = wanted.canonical(seen.size)
    const places = groups.intersect(doubt)
    const [first] = (places.isEmpty ? doubt : places).boundaries
    // The file of a reference may exist again, and the bytes of a sharer may have been healed for another sharer.
    const isInDoubt = isFault || contentOf(databases, this.#root, seen).isChangedByOthers
    const now = isInDoubt ? await this.#check(error, seen, first, groups) : await catalog.get(this.#root)
    if (now === undefined) throw error
    const lost = await presence.missing(now, wanted)
    if (!lost.isEmpty) return this.#fetch(lost, now, /** @type {BaoError} */ (error))
    if (this.#checked.has(first)) throw error
    this.#checked.add(first)
    return now
  }

  /**
   * Fetches groups that the store lacks, unless this read has fetched some of them before.
   *
   * @param {ChunkRanges} lost @param {BlobRecord} record @param {BaoError} error  the failure of the read
   * @returns {Promise<BlobRecord>} the record as it is now
   * @throws the failure of the read
   */
  async #fetch (lost, record, error) {
    const { catalog, supplies } = this.#parts
    const options = { hops: this.#hops, signal: this.#signal }
    if (!supplies.isFor(this.#hops) || !lost.intersect(this.#fetched).isEmpty) throw error
    try {
      this.#fetched = this.#fetched.union(await supplies.fetch(this.#root, record, lost, options))
    } catch (cause) {
      this.#signal?.throwIfAborted()
      throw Object.assign(error, { cause })
    }
    return await catalog.get(this.#root) ?? record
  }

  /**
   * Checks the bytes at a fault, and notes their damage.
   *
   * @param {unknown} error
   * @param {BlobRecord} seen
   * @param {number} first  index of the chunk in doubt
   * @param {ChunkRanges} groups  wanted groups
   */
  #check (error, seen, first, groups) {
    const start = first * CHUNK_LEN
    // If the file ends too early, everything after its end is lost, too, so note all of it in one step.
    const { endsAtFirstGap } = contentOf(this.#parts.databases, this.#root, seen)
    const last = endsAtFirstGap && isEndOfFile(error) ? groups.boundaries.at(-1) ?? first : first
    const end = Math.max(last * CHUNK_LEN, start + 1)
    return untilAborted(this.#parts.damage.note(this.#root, seen, { start, end }), this.#signal)
  }
}

/** @param {unknown} error */
const isChanged = error => error instanceof BaoError && error.code === 'STORE_CHANGED'

/** True if a file ended before the wanted bytes, or was missing. @param {unknown} error */
function isEndOfFile (error) {
  const { code, cause } = /** @type {BaoError} */ (error)
  if (code === 'STORE_MISSING') return true
  return cause instanceof BaoError && cause.code === 'BAO_TRUNCATED' && cause.node === undefined
}

/**
 * Returns the chunks that a read found wrong or missing; undefined when it failed for another reason.
 *
 * @param {unknown} error
 * @returns {ChunkRanges | undefined}
 */
function chunksInDoubt (error) {
  if (!(error instanceof BaoError)) return undefined
  const { code, start, len, ranges } = error
  if (code === 'STORE_MISSING') return ranges
  if (code !== 'STORE_CORRUPT' || start === undefined || len === undefined) return undefined
  return ChunkRanges.fromBytes(start, start + Math.max(1, len))
}
