// Repairs the data of a stored blob, and commits a record that says what is left of it. `fsck` repairs whole blobs. A
// read that finds damage repairs the part around it.

import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { dropWrong, proveBlob } from './repair-blob.js'
import { contentOf } from '../../storage/content/content-of.js'
import { wholeOf } from './part.js'

/** @import { BlobRecord } from '../../storage/format/records.js' */
/** @import { Part } from './part.js' */
/** @import { Reservation } from '../../catalog/quota.js' */
/** @import { Catalog, Change } from '../../catalog/catalog.js' */
/** @import { Presence } from '../../catalog/presence.js' */
/** @import { Databases } from '../../storage/databases.js' */

/** The caller of each method holds the blob's lock. */
export class Repairs {
  #catalog
  #databases
  #presence

  /** @param {{ catalog: Catalog, databases: Databases, presence: Presence }} parts */
  constructor ({ catalog, databases, presence }) {
    this.#catalog = catalog
    this.#databases = databases
    this.#presence = presence
  }

  /**
   * Repairs a blob, or a part of it, and commits its record.
   *
   * @param {Uint8Array} root @param {BlobRecord} record
   * @param {object} [options]
   * @param {Part} [options.part]  the part to repair. Default: the whole blob
   * @param {Reservation[]} [options.reservations]  quota for a copy of the bytes of a reference
   * @param {AbortSignal} [options.signal]
   * @returns {Promise<ChunkRanges | undefined>} the chunks that are present now; undefined when nothing was changed,
   *   because the system cannot read the file, or the data belongs to another blob
   */
  async repair (root, record, { part = wholeOf(record), reservations, signal } = {}) {
    const [before, len] = [await this.#presence.of(record), await this.#presence.len(record)]
    this.#presence.forget(record) // The calls below may change its pages.
    const content = contentOf(this.#databases, root, record).reachable
    if (await content.isObstructed()) return this.noteAllMissing(root, record)
    let right = await proveBlob(content, part, signal)
    if (right === undefined) return undefined
    if (!part.isWhole && record.complete && right.intersect(part.chunks).isEmpty) {
      // Nothing proves the size. So write marks only for chunks that may have stored bytes.
      const held = await content.held(signal)
      if (held === undefined) return undefined
      right = right.intersect(held)
    }
    if (!part.isWhole && right.intersect(part.chunks).isEmpty) {
      // All of the part is wrong. The data may belong to another blob, because two records in a damaged index may have
      // the same id.
      if (right.isEmpty && !content.isChangedByOthers) return this.noteAllMissing(root, record, { isDoubtful: true })
      if (await this.#hasOtherOwner(record)) return undefined
    }
    const after = await dropWrong(content, right, part, signal)
    const removal = right.isEmpty ? await this.#removalOf(root, record) : undefined
    if (removal !== undefined) {
      await this.#catalog.commit([{ ...removal, gained: 0 - len }])
    } else {
      after.isDamaged = !after.complete && (record.isDamaged || !before.difference(right).isEmpty)
      // The reader needs the presence next. Reading all pages of a long blob would take longer than this repair.
      if (!after.complete && !part.isWhole) this.#presence.know(after, right)
      const gained = await this.#presence.len(after) - len
      const now = areSame(after, record) ? record : after
      await this.#catalog.commit([{ root, before: record, after: now, gained, reservations }])
    }
    return right
  }

  /**
   * Writes a new record for a blob whose data was found without one. It repairs the data first, so that everything in
   * the record is true. If the call is interrupted before it writes the record, the data is still an orphan, and is
   * found again.
   *
   * @param {Uint8Array} root
   * @param {BlobRecord} found  a record made for the data. It is not in the index, and nothing in it is proven
   * @param {object} [options]
   * @param {BlobRecord} [options.replaced]  the record of the blob, which is incomplete. The new record replaces it if
   *   the data has all chunks that are right in the blob, and more; the blob's other data is then deleted
   * @param {AbortSignal} [options.signal]
   * @returns {Promise<ChunkRanges | undefined>} the chunks that are present now; none when the data adds nothing;
   *   undefined when the system cannot read a file, or each of both has chunks that the other lacks. If no chunk is
   *   present, or the result is undefined, no record was written
   */
  async restore (root, found, { replaced, signal } = {}) {
    const record = { ...found, ...replaced && keptBy(replaced) }
    const before = await this.#presence.of(record)
    this.#presence.forget(record)
    const content = contentOf(this.#databases, root, record)
    if (await content.isObstructed()) return ChunkRanges.none
    const part = wholeOf(record)
    const right = await proveBlob(content, part, signal)
    if (right === undefined || right.isEmpty) return right
    if (replaced !== undefined) {
      const own = await this.#rightOf(root, replaced, signal)
      if (own === undefined || !content.isOurs) return undefined
      if (right.difference(own).isEmpty) return ChunkRanges.none
      if (!own.difference(right).isEmpty) return undefined
    }
    const after = await dropWrong(content, right, part, signal)
    after.isDamaged = !after.complete && (replaced?.isDamaged || !before.difference(right).isEmpty)
    const lenBefore = replaced === undefined ? 0 : await this.#presence.len(replaced)
    const gained = await this.#presence.len(after) - lenBefore
    await this.#catalog.commit([{ root, before: replaced, after, gained }])
    return right
  }

  /**
   * Finds the chunks of a blob that are right. It computes lost pairs again, and leaves the record as it is.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {AbortSignal} [signal]
   * @returns {Promise<ChunkRanges | undefined>} undefined when they are not known, because the blob is a reference, or
   *   the system cannot read its file
   */
  async #rightOf (root, record, signal) {
    const content = contentOf(this.#databases, root, record)
    if (!content.isOurs) return undefined
    this.#presence.forget(record) // The next call may change its pages.
    return await content.isObstructed() ? ChunkRanges.none : proveBlob(content, wholeOf(record), signal)
  }

  /**
   * Makes the whole blob count as missing, and gives it a new id for the bytes that it will receive. A file that does
   * not belong to the store stays as it is.
   *
   * @param {Uint8Array} root @param {BlobRecord} record
   * @param {{ isDoubtful?: boolean }} [options]  `isDoubtful`: true if the data under the old id may belong to another
   *   blob. That data stays until `gc`, `compact` or `fsck` finds that it is an orphan. Default: false
   * @returns {Promise<ChunkRanges>} the chunks that are present now: none
   */
  async noteAllMissing (root, record, { isDoubtful = false } = {}) {
    const { isNameless, created, size, sizeProven } = record
    const len = await this.#presence.len(record)
    const before = isDoubtful ? undefined : record
    const removal = await this.#removalOf(root, record)
    this.#presence.forget(record)
    if (removal !== undefined) {
      await this.#catalog.commit([{ ...removal, before }])
      return ChunkRanges.none
    }
    const id = await this.#databases.ids.newId()
    const home = contentOf(this.#databases, root, record).homeOfNew
    /** @type {BlobRecord} */
    const after = { id, size, sizeProven, complete: false, home, created, isNameless, isDamaged: true }
    try {
      await this.#catalog.commit([{ root, before, after, gained: 0 - len }])
    } finally {
      this.#databases.ids.release(id) // No call writes data under this id before the record names it.
    }
    return ChunkRanges.none
  }

  /**
   * Makes the change that deletes a record without bytes.
   *
   * @param {Uint8Array} root @param {BlobRecord} record
   * @returns {Promise<Change | undefined>} undefined when the record must stay, because its size is proven, or an
   *   alias leads to it: a tag may name that alias
   */
  async #removalOf (root, record) {
    if (record.sizeProven) return undefined
    const removal = await this.#catalog.removal(root, record)
    return removal.aliases?.length === 0 ? removal : undefined
  }

  /**
   * Returns true if another record has the same id.
   *
   * @param {BlobRecord} record
   */
  async #hasOtherOwner ({ id }) {
    let owners = 0
    for await (const batch of this.#catalog.entryBatches()) {
      for (const { record } of batch) if (record?.id === id) owners++
    }
    return owners > 1
  }
}

/**
 * The properties that a record keeps when other data takes the place of its own.
 *
 * @param {BlobRecord} record
 */
const keptBy = ({ size, sizeProven, created, isNameless }) =>
  ({ created, isNameless, ...sizeProven && { size, sizeProven } })

/** @param {BlobRecord} a @param {BlobRecord} b  of the same id */
const areSame = (a, b) => a.complete === b.complete && a.sizeProven === b.sizeProven && a.home === b.home &&
  Boolean(a.isDamaged) === Boolean(b.isDamaged)
