// Changes the index database, which says which blobs there are, and what is known of them. Only `commit` adds, changes
// and deletes records and tags, and only `commitGroups` adds chunk groups to a blob that is present in part. Both tell
// the subscribers: presence, quota, observers and garbage collection.

import { equals } from 'uint8arrays/equals'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { Records } from './records.js'
import { damagedRecord, orIfUnreadable } from '../storage/errors.js'
import { VIEWS, blobKey, pathKey } from '../storage/format/keys.js'
import { encodePath, encodeRecord, isWellFormed } from '../storage/format/records.js'
import { Bases } from '../storage/content/bases.js'
import { contentOf } from '../storage/content/content-of.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Tag } from '../storage/format/tags.js' */
/** @import { GivenUpData } from '../storage/databases.js' */
/** @import { Operation } from '../storage/level/safe-database.js' */
/** @import { Reservation } from './quota.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { AliasIndex } from './names/alias-index.js' */
/** @import { EventLog } from './events/event-log.js' */
/** @import { Presence } from './presence.js' */
/** @import { Uses } from './uses.js' */

/**
 * A change of the record of one blob. The caller holds the blob's lock.
 *
 * @typedef {object} Change
 * @property {Uint8Array} root
 * @property {BlobRecord} [before]  the old record; undefined when there is none, or it is damaged. If `after` has
 *   another id, the data under the old id is deleted
 * @property {BlobRecord} [after]  the new record; undefined to forget the blob and all its names
 * @property {number} gained  how many more bytes the store keeps after the change; negative when it deletes bytes. The
 *   caller leaves out the bytes that the bases of sharers gain or lose: the commit adds them to this object
 * @property {Reservation[]} [reservations]  reservations of quota for these bytes
 * @property {Uint8Array[]} [aliases]  multihashes to add as aliases; when the blob is forgotten, the aliases to delete
 * @property {number} [noUseAsOfFlush]  for a blob that is forgotten: see `Uses.forget`
 * @property {string} [path]  the path of the file of a reference
 */

/**
 * A change of the chunk groups of a blob that is present in part. The caller holds the blob's lock.
 *
 * @typedef {object} GroupsChange
 * @property {BlobRecord} record  the record under whose id the groups are stored
 * @property {ChunkRanges} present  chunks that are present after the change
 * @property {number} gained  as for `Change`
 * @property {Reservation[]} [reservations]  as for `Change`
 */

/**
 * A change of a tag. The caller holds the lock of the tag's name.
 *
 * @typedef {object} TagChange
 * @property {string} name
 * @property {Tag} [before]  the old tag; undefined when there was none, or it was damaged
 * @property {Tag} [after]  the new tag; undefined when the tag is deleted
 */

/**
 * @typedef {object} CommitOptions
 * @property {boolean} [sync]  true to wait until the batch is on the disk, if the store syncs. Default: true
 * @property {Operation[]} [also]  more operations for the same batch: those that change tags
 * @property {TagChange[]} [tags]  the changes of tags that `also` makes
 * @property {boolean} [deletesData]  true to delete the data that the changes give up. Otherwise the caller calls
 *   `deleteData`. Default: true
 */

/**
 * A part of the store that the catalog tells of every write, under the blob's lock. The catalog does not tell of failed
 * writes, even though these may have reached the disk.
 *
 * @typedef {object} Subscriber
 * @property {(change: Change) => void} [recordChanged]
 * @property {(change: GroupsChange) => void} [groupsChanged]
 * @property {(change: TagChange) => void} [tagChanged]
 * @property {(root: Uint8Array) => void} [wasPutAgain]  called when a complete blob was put or received again
 */

export class Catalog extends Records {
  #databases
  #presence
  #aliases
  #uses
  #log
  #onLeftovers
  #subscribers = /** @type {Subscriber[]} */ ([])
  /** How many writes of the index the catalog has begun. */
  #writesBegun = 0
  bases

  /**
   * @param {object} parts
   * @param {Databases} parts.databases
   * @param {Presence} parts.presence
   * @param {AliasIndex} parts.aliases
   * @param {Uses} parts.uses
   * @param {EventLog} parts.log
   * @param {() => void} parts.onLeftovers  called when there may be data that the next opening should delete
   */
  constructor ({ databases, presence, aliases, uses, log, onLeftovers }) {
    super(databases)
    this.#databases = databases
    this.#presence = presence
    this.#aliases = aliases
    this.#uses = uses
    this.#log = log
    this.#onLeftovers = onLeftovers
    this.bases = new Bases(databases)
  }

  /** Adds subscribers. They are told of every change, in this order. @param {Subscriber[]} subscribers */
  subscribe (...subscribers) { this.#subscribers.push(...subscribers) }

  /**
   * Writes changes of records in one batch, and tells the subscribers. In the same batch, it notes which data the
   * changes give up. It deletes this data after the batch; after an interruption, the next opening does so.
   *
   * @param {Change[]} changes @param {CommitOptions} [options]
   */
  async commit (changes, options) {
    const records = changes.flatMap(({ before, after }) => [before, after])
    while (!this.bases.knows(records)) await this.bases.load(records)
    return this.commitNow(changes, options)
  }

  /**
   * Does the same as `commit`, and queues the batch before it returns. So what the caller has checked just before the
   * call still holds when the batch is written. For this, nothing may be awaited before `#batch`, and the bases of all
   * changes must be in memory: `removal` has loaded those of its changes.
   *
   * @param {Change[]} changes @param {CommitOptions} [options]
   */
  async commitNow (changes, { sync = true, also, tags = [], deletesData = true } = {}) {
    const operations = changes.length === 0 ? [] : this.#operations(changes)
    if (also !== undefined) operations.push(...also)
    // Entries must have the order of their batches, which is another reason to await nothing before the batch.
    const entry = this.#log.entryOf(changes, tags)
    if (entry !== undefined) operations.push(...entry.operations)
    try {
      if (operations.length > 0) await this.#batch(sync, operations)
    } catch (error) {
      this.#databases.postpone(this.#givenUpBy(changes))
      if (this.bases.noteFailedWrite(changes)) this.#onLeftovers()
      throw error
    }
    this.bases.confirm(changes)
    if (entry !== undefined) this.#log.acknowledge(entry.place)
    for (const change of changes) this.#tellRecord(change)
    for (const change of tags) for (const subscriber of this.#subscribers) subscriber.tagChanged?.(change)
    if (deletesData) await this.deleteData(changes)
  }

  /**
   * Deletes the data that changes have given up. It does not throw: if data cannot be deleted, its note stays, and if a
   * file cannot be cut off, the next opening tries again.
   *
   * @param {Change[]} changes
   */
  async deleteData (changes) {
    const givenUp = this.#givenUpBy(changes)
    if (givenUp.length > 0) await this.#databases.deleteGivenUp(givenUp).catch(() => {})
    await this.bases.cutOffAfter(changes, this.#onLeftovers)
  }

  /**
   * Writes chunk groups, together with the pages that mark them as present. From then on, they count as present. Groups
   * without a record do no harm, so callers commit the groups first and the record second.
   *
   * @param {GroupsChange} groups
   * @param {{ operations: Operation[], sync: boolean }} options  `operations`: puts for the data database
   */
  async commitGroups (groups, { operations, sync }) {
    const { data, syncBatch } = this.#databases
    await data.batch(operations, sync ? syncBatch : {})
    this.#tellGroups(groups)
  }

  /**
   * Tells the subscribers that the groups of a blob without a record are dropped.
   *
   * @param {BlobRecord} record  the record that the blob would have been given @param {number} len  bytes of the groups
   */
  dropGroups (record, len) { this.#tellGroups({ record, present: ChunkRanges.none, gained: -len }) }

  /**
   * Writes the lost entry of a sharer again. The caller holds the blob's lock.
   *
   * @param {Uint8Array} root @param {BlobRecord} record
   */
  async addSharer (root, record) {
    while (!this.bases.knows([record])) await this.bases.load([record])
    // Tell the base of the sharer before the write, so that no deletion of another sharer removes its bytes.
    const { operation, gained } = this.bases.restore(root, record)
    this.#tellRecord({ root, before: record, after: record, gained })
    await this.#batch(true, [operation])
  }

  /**
   * Deletes the entry of a sharer that no record matches. The caller holds the lock of the blob that the entry names.
   *
   * @param {Uint8Array} root  of the sharer @param {number} base @param {number} size
   */
  async dropSharer (root, base, size) {
    await this.bases.load([{ base }])
    const { operation, gained } = this.bases.drop(base, size)
    this.#tellRecord({ root, gained })
    await this.#batch(true, [operation])
  }

  /**
   * Deletes a stray entry, unless another call has just replaced it with a right one. The entry does not say to which
   * blob it belongs, so the caller cannot hold the blob's lock.
   *
   * @param {Uint8Array} key
   */
  async removeStray (key) {
    const { index } = this.#databases
    for (;;) {
      const begun = this.#writesBegun
      await index.batch([]) // After this, all earlier writes can be read.
      const value = await orIfUnreadable(index.get(key, VIEWS))
      if (value === undefined || isWellFormed(key, value)) return
      if (begun === this.#writesBegun) return this.#batch(true, [{ type: 'del', key }])
    }
  }

  /** @param {Change} change */
  #tellRecord (change) { for (const subscriber of this.#subscribers) subscriber.recordChanged?.(change) }

  /** @param {GroupsChange} groups */
  #tellGroups (groups) { for (const subscriber of this.#subscribers) subscriber.groupsChanged?.(groups) }

  /**
   * Notes that a complete blob was put or received again, under its own name or under an alias.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {Uint8Array} [alias]
   */
  async putAgain (root, record, alias) {
    for (const subscriber of this.#subscribers) subscriber.wasPutAgain?.(root)
    if (alias === undefined) {
      if (record.isNameless) await this.#setNameless(root, record, { isNameless: false })
    } else {
      const leadsTo = await this.#aliases.rootOf(alias)
      if (leadsTo === undefined || !equals(leadsTo, root)) await this.#batch(true, this.#aliases.puts(alias, root))
    }
    this.#uses.touch(root)
  }

  /**
   * Forgets the blob's own name, and the blob if it has no other name. The caller holds the blob's lock.
   *
   * @param {Uint8Array} root @param {{ isTagged: boolean }} options  `isTagged`: true if a tag keeps the blob
   * @returns {Promise<boolean>} true if the blob had a name of its own
   */
  async removeOwnName (root, { isTagged }) {
    const { isThere, record } = await this.find(root)
    if (!isThere || record?.size === 0 || (isTagged && !record?.complete)) return false
    if (record?.complete && (isTagged || await this.#hasAliases(root))) {
      await this.#setNameless(root, record, { isNameless: true })
    } else {
      await this.remove(root, record)
    }
    return !record?.isNameless
  }

  /**
   * Forgets an alias, and the blob if that was its last name. The caller holds the blob's lock.
   *
   * @param {Uint8Array} root @param {Uint8Array} alias
   * @param {{ isTagged: boolean, isTaggedItself: boolean }} options  `isTagged`: true if a tag keeps the blob.
   *   `isTaggedItself`: true if a tag names the alias, which must then still lead to the blob
   */
  async removeAlias (root, alias, { isTagged, isTaggedItself }) {
    const { record } = await this.find(root)
    const isLast = record?.isNameless && !isTagged && !await this.#hasAliases(root, alias)
    if (isLast) return this.remove(root, record)
    await this.#batch(true, isTaggedItself ? this.#aliases.forget(alias, root) : this.#aliases.dels(alias, root))
  }

  /**
   * Notes whether the blob is nameless.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {{ isNameless: boolean }} name
   */
  #setNameless (root, record, { isNameless }) {
    return this.commit([{ root, before: record, after: { ...record, isNameless }, gained: 0 }])
  }

  /**
   * Returns true if the blockstore has the blob under an alias other than this one. Throws when an alias cannot be
   * read, so that the damage does not cause the deletion of the blob.
   *
   * @param {Uint8Array} root @param {Uint8Array} [alias]
   */
  async #hasAliases (root, alias) {
    const aliases = await this.#aliases.of(root, () => { throw damagedRecord(root) })
    return aliases.some(({ multihash, isForgotten }) =>
      !isForgotten && (alias === undefined || !equals(multihash, alias)))
  }

  /**
   * Forgets a blob and all its names, and deletes its data. The caller holds the blob's lock.
   *
   * @param {Uint8Array} root @param {BlobRecord} [record]  undefined when it is damaged
   * @returns {Promise<Change>}
   */
  async remove (root, record) {
    const change = await this.removal(root, record)
    await this.commit([change])
    return change
  }

  /**
   * Makes the change that forgets a blob and all its names, for `commit` or `commitNow`.
   *
   * @param {Uint8Array} root
   * @param {BlobRecord} [before]  the record; undefined when it is damaged
   * @param {{ hasAliases?: boolean, noUseAsOfFlush?: number }} [options]  `hasAliases`: false if the blob certainly has
   *   no aliases. Default: true. `noUseAsOfFlush`: see `Uses.forget`
   * @returns {Promise<Change>}
   */
  async removal (root, before, { hasAliases = true, noUseAsOfFlush } = {}) {
    const aliases = hasAliases ? (await this.#aliases.of(root)).map(({ multihash }) => multihash) : []
    const len = before === undefined ? 0 : await this.#presence.len(before)
    await this.bases.load([before])
    return { root, before, aliases, noUseAsOfFlush, gained: 0 - len }
  }

  /** @param {Change[]} changes @returns {Operation[]} */
  #operations (changes) {
    const { allocate } = this.#databases
    const operations = this.bases.apply(changes)
    for (const change of changes) {
      const { root, before, after, aliases = [], path } = change
      if (after === undefined) {
        operations.push({ type: 'del', key: blobKey(root, allocate) })
        operations.push(...this.#uses.forget(root, change.noUseAsOfFlush))
        for (const alias of aliases) operations.push(...this.#aliases.dels(alias, root))
      } else {
        if (after !== before) {
          const value = encodeRecord(root, after, allocate)
          operations.push({ type: 'put', key: blobKey(root, allocate), value })
        }
        for (const alias of aliases) operations.push(...this.#aliases.puts(alias, root))
        if (path !== undefined) {
          operations.push({ type: 'put', key: pathKey(after.id), value: encodePath(after.id, path) })
        }
      }
    }
    const givenUp = this.#givenUpBy(changes)
    if (givenUp.length > 0) operations.push(this.#databases.noteDeletion(givenUp))
    return operations
  }

  /**
   * Returns the data that changes give up, because no record names it after the changes.
   *
   * @param {Change[]} changes @returns {GivenUpData[]}
   */
  #givenUpBy (changes) {
    const databases = this.#databases
    const own = changes.flatMap(({ root, before, after }) => {
      if (before === undefined || before.id === after?.id) return []
      if (after !== undefined && contentOf(databases, root, after).hasFileOf(before)) return []
      return [contentOf(databases, root, before).dataToDelete]
    })
    return [...own, ...this.bases.givenUpBy(changes)]
  }

  /** @param {boolean} sync @param {Operation[]} operations */
  #batch (sync, operations) {
    const { index, isSync } = this.#databases
    this.#writesBegun++
    return index.batch(operations, { sync: sync && isSync })
  }
}
