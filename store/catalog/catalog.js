// Changes the index database: which blobs there are, and what is known of them. `commit` is the only way in which a
// record or a tag comes, changes or goes; `commitGroups` is the only way in which a blob that is present in part gets
// more chunk groups. Both tell their subscribers: presence, quota, observers and garbage collection.

import { equals } from 'uint8arrays/equals'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { Aliases } from './names/aliases.js'
import { EventLog } from './events/event-log.js'
import { Uses } from './uses.js'
import { Records } from './records.js'
import { damagedRecord } from '../storage/errors.js'
import { blobKey, pathKey, usedKey } from '../storage/format/keys.js'
import { encodePath, encodeRecord } from '../storage/format/records.js'
import { Bases } from '../storage/content/bases.js'
import { GROUP_LEN } from '../storage/content/tree-pages.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Tag } from '../storage/format/tags.js' */
/** @import { DoomedData } from '../storage/databases.js' */
/** @import { Operation } from '../storage/level/safe-database.js' */
/** @import { Reservation } from './quota.js' */
/** @import { StoreContext } from '../exchange/store-context.js' */

/**
 * What becomes of the record of one blob. The caller holds the blob's lock.
 *
 * @typedef {object} Change
 * @property {Uint8Array} root
 * @property {BlobRecord} [before]  the record so far; undefined when there is none, or a damaged one. The data under
 *   its id is deleted if `after` has another id
 * @property {BlobRecord} [after]  the record from then on; undefined when the blob is forgotten, with all its names
 * @property {number} gained  bytes that the store keeps from then on and did not before; negative when bytes go
 * @property {Reservation[]} [reservations]  quota reservations made for these bytes
 * @property {Uint8Array[]} [aliases]  multihashes that lead to the blob from then on; when the blob is forgotten,
 *   the multihashes that led to it
 * @property {number} [noUseAsOfFlush]  what `UsesInOrder.noUseAsOfFlush` returned for a blob that is forgotten
 * @property {string} [path]  path of an imported file that the store does not own
 * @property {number} [joined]  set by `commit`: the base that the blob shares from then on
 * @property {number} [left]  set by `commit`: the base that the blob does not share any more
 * @property {boolean} [isBaseGone]  set by `commit`: does nobody share that base any more, so that its data goes?
 */

/**
 * What becomes of the chunk groups of a blob that is present in part. The caller holds the blob's lock.
 *
 * @typedef {object} GroupsChange
 * @property {BlobRecord} record  the record under whose id the groups are stored
 * @property {ChunkRanges} present  chunks that are present from then on
 * @property {number} gained  as for `Change`
 * @property {Reservation[]} [reservations]  as for `Change`
 */

/**
 * What becomes of a tag. The caller holds the lock of its name.
 *
 * @typedef {object} TagChange
 * @property {string} name
 * @property {Tag} [before]  undefined when there was none, or a damaged one
 * @property {Tag} [after]  undefined when the tag is gone from then on
 */

/**
 * Is told, under the blob's lock, of everything that is written. Of a write that has failed nothing is told, although
 * it may have reached the disk.
 *
 * @typedef {object} Subscriber
 * @property {(change: Change) => void} [recordChanged]
 * @property {(change: GroupsChange) => void} [groupsChanged]
 * @property {(change: TagChange) => void} [tagChanged]
 * @property {(root: Uint8Array) => void} [wasPutAgain]  a blob that is complete was put or received once more
 */

export class Catalog extends Records {
  #store
  #subscribers = /** @type {Subscriber[]} */ ([])
  aliases
  uses
  log
  bases

  /** @param {StoreContext} store */
  constructor (store) {
    super(store.databases)
    this.#store = store
    this.aliases = new Aliases(store.databases.index)
    this.uses = new Uses(store.databases.index)
    this.log = new EventLog(store.databases)
    this.bases = new Bases(store.databases)
  }

  /** @param {Subscriber[]} subscribers  told of every change, in this order */
  subscribe (...subscribers) { this.#subscribers.push(...subscribers) }

  /**
   * Writes changes of records in one batch, and tells the subscribers. The data that a change gives up is noted in
   * the same batch and deleted afterwards; when that is interrupted, the next opening of the store finishes it.
   *
   * @param {Change[]} changes
   * @param {object} [options]
   * @param {boolean} [options.sync]  sync to disk before resolving (if the store is durable). Default: true
   * @param {Operation[]} [options.also]  more operations for the same batch: those of the tags
   * @param {TagChange[]} [options.tags]  what these do
   * @param {boolean} [options.deletesData]  delete the data that the changes give up? If false, the caller calls
   *   `deleteData`. Default: true
   */
  async commit (changes, { sync = true, also, tags = [], deletesData = true } = {}) {
    // Nothing is awaited when `removal` has made the changes.
    const bases = basesOf(changes)
    if (!this.bases.knows(bases)) await this.bases.load(bases)
    const operations = changes.length === 0 ? [] : this.#operations(changes)
    if (also !== undefined) operations.push(...also)
    // Forget a pending use now; written later, it would have no blob.
    for (const { root, after } of changes) if (after === undefined) this.uses.forget(root)
    // Nothing is awaited between this entry and the batch that has it: entries stand in the order of the batches.
    const entry = this.log.entryOf(changes, tags)
    if (entry !== undefined) operations.push(...entry.operations)
    try {
      if (operations.length > 0) await this.#batch(sync, operations)
    } catch (error) {
      if (this.bases.doubt(changes)) this.#store.activity.noteLeftovers()
      throw error
    }
    this.bases.confirm(changes)
    if (entry !== undefined) this.log.acknowledge(entry.place)
    for (const change of changes) this.#tellRecord(change)
    for (const change of tags) for (const subscriber of this.#subscribers) subscriber.tagChanged?.(change)
    if (deletesData) await this.deleteData(changes)
  }

  /**
   * Deletes the data that changes have given up. Does not fail: the notes tell that the data is still to be deleted.
   * A file that cannot be cut off is cut off at the next opening.
   *
   * @param {Change[]} changes
   */
  async deleteData (changes) {
    const doomed = givenUpBy(changes)
    if (doomed.length > 0) await this.#store.databases.deleteDoomed(doomed).catch(() => {})
    for (const { left, isBaseGone } of changes) {
      if (left === undefined || isBaseGone) continue
      await this.bases.cutOff(left).catch(() => this.#store.activity.noteLeftovers())
    }
  }

  /**
   * Writes chunk groups, with the pages that say that they are present. Groups count as present at once, and are
   * harmless without a record. So commit groups first, the record second.
   *
   * @param {GroupsChange} groups
   * @param {{ operations: Operation[], sync: boolean }} options  `operations`: puts for the data database
   */
  async commitGroups (groups, { operations, sync }) {
    const { data, syncBatch } = this.#store.databases
    await data.batch(operations, sync ? syncBatch : {})
    this.#tellGroups(groups)
  }

  /**
   * Takes back groups of a blob that gets no record.
   *
   * @param {BlobRecord} record  its id is that of the groups @param {number} len  bytes that counted
   */
  dropGroups (record, len) { this.#tellGroups({ record, present: ChunkRanges.none, gained: -len }) }

  /** Writes the entry of a sharer that has lost it. @param {Uint8Array} root @param {BlobRecord} record */
  async addSharer (root, record) {
    this.#tellRecord({ root, before: record, after: record, gained: await this.bases.addEntry(root, record) })
  }

  /**
   * Deletes the entry of a sharer that no record matches.
   *
   * @param {Uint8Array} root  of the sharer @param {number} base @param {number} size
   */
  async dropSharer (root, base, size) {
    this.#tellRecord({ root, gained: await this.bases.removeEntry(base, size) })
  }

  /** @param {Change} change */
  #tellRecord (change) { for (const subscriber of this.#subscribers) subscriber.recordChanged?.(change) }

  /** @param {GroupsChange} groups */
  #tellGroups (groups) { for (const subscriber of this.#subscribers) subscriber.groupsChanged?.(groups) }

  /**
   * Notes that a complete blob was put or received once more: under its own name, or under an alias.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {Uint8Array} [alias]
   */
  async putAgain (root, record, alias) {
    for (const subscriber of this.#subscribers) subscriber.wasPutAgain?.(root)
    if (alias === undefined) {
      if (record.isNameless) await this.#setNameless(root, record, { isNameless: false })
    } else {
      const leadsTo = await this.aliases.rootOf(alias)
      if (leadsTo === undefined || !equals(leadsTo, root)) await this.#batch(true, this.aliases.puts(alias, root))
    }
    this.uses.touch(root)
  }

  /**
   * Forgets that a blob was kept under its own name, and the blob when it has no other. Under the blob's lock.
   *
   * @param {Uint8Array} root @param {{ isTagged: boolean }} options  `isTagged`: a tag keeps it anyway
   */
  async removeOwnName (root, { isTagged }) {
    const { isThere, record } = await this.find(root)
    if (!isThere || record?.size === 0 || (isTagged && !record?.complete)) return
    if (record?.complete && (isTagged || await this.#hasAliases(root))) {
      await this.#setNameless(root, record, { isNameless: true })
    } else {
      await this.remove(root, record)
    }
  }

  /**
   * Forgets an alias, and the blob when that was its last name. Under the blob's lock.
   *
   * @param {Uint8Array} root @param {Uint8Array} alias
   * @param {{ isTagged: boolean, isTaggedItself: boolean }} options  `isTagged` as above; `isTaggedItself`: a tag names
   *   the alias, which must lead to the blob also in the future
   */
  async removeAlias (root, alias, { isTagged, isTaggedItself }) {
    const { aliases } = this
    const { record } = await this.find(root)
    const isLast = record?.isNameless && !isTagged && !await this.#hasAliases(root, alias)
    if (isLast) await this.remove(root, record)
    else await this.#batch(true, isTaggedItself ? aliases.forget(alias, root) : aliases.dels(alias, root))
  }

  /**
   * Notes whether a blob is kept for its aliases only, and not under its own hash.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {{ isNameless: boolean }} name
   */
  #setNameless (root, record, { isNameless }) {
    return this.commit([{ root, before: record, after: { ...record, isNameless }, gained: 0 }])
  }

  /**
   * Is it a block under any alias, or any beside this one? An alias that cannot be read must not cost the blob.
   *
   * @param {Uint8Array} root @param {Uint8Array} [alias]
   */
  async #hasAliases (root, alias) {
    const aliases = await this.aliases.of(root, () => { throw damagedRecord(root) })
    return aliases.some(({ multihash, isForgotten }) =>
      !isForgotten && (alias === undefined || !equals(multihash, alias)))
  }

  /**
   * Forgets a blob and all its names, and deletes its data. Under the blob's lock.
   *
   * @param {Uint8Array} root @param {BlobRecord} [record]  unless it is damaged
   */
  async remove (root, record) { await this.commit([await this.removal(root, record)]) }

  /**
   * The change that forgets a blob and all its names.
   *
   * @param {Uint8Array} root
   * @param {BlobRecord} [before]  unless the record is damaged
   * @param {{ hasAliases?: boolean, noUseAsOfFlush?: number }} [options]  what is known of the blob: `hasAliases`
   *   false when it has none, default: true; `noUseAsOfFlush`: see `UsesInOrder.noUseAsOfFlush`
   * @returns {Promise<Change>}
   */
  async removal (root, before, { hasAliases = true, noUseAsOfFlush } = {}) {
    const aliases = hasAliases ? (await this.aliases.of(root)).map(({ multihash }) => multihash) : []
    const len = before === undefined ? 0 : await this.#store.presence.len(before)
    await this.bases.load([before?.base])
    return { root, before, aliases, noUseAsOfFlush, gained: 0 - len }
  }

  /** @param {Change[]} changes @returns {Operation[]} */
  #operations (changes) {
    const { allocate } = this.#store.databases
    const operations = this.bases.apply(changes)
    for (const change of changes) {
      const { root, before, after, aliases = [], path } = change
      if (after === undefined) {
        operations.push({ type: 'del', key: blobKey(root, allocate) })
        // Skip the deletion when we know that the index has no use of the blob: uses were not flushed since then.
        const hasNoUse = change.noUseAsOfFlush === this.uses.flushCount
        if (!hasNoUse) operations.push({ type: 'del', key: usedKey(root, allocate) })
        for (const alias of aliases) operations.push(...this.aliases.dels(alias, root))
      } else {
        if (after !== before) {
          const value = encodeRecord(root, after, allocate)
          operations.push({ type: 'put', key: blobKey(root, allocate), value })
        }
        for (const alias of aliases) operations.push(...this.aliases.puts(alias, root))
        if (path !== undefined) {
          operations.push({ type: 'put', key: pathKey(after.id), value: encodePath(after.id, path) })
        }
      }
    }
    const doomed = givenUpBy(changes)
    if (doomed.length > 0) operations.push(this.#store.databases.doom(doomed))
    return operations
  }

  /** @param {boolean} sync @param {Operation[]} operations */
  #batch (sync, operations) {
    const { index, isSync } = this.#store.databases
    return index.batch(operations, { sync: sync && isSync })
  }
}

/** The data that changes give up, so that no record names it any more. @param {Change[]} changes */
const givenUpBy = changes => changes.flatMap(({ before, after, left, isBaseGone }) => [
  ...before === undefined || before.id === after?.id || before.id === after?.base ? [] : [dataOf(before)],
  ...left !== undefined && isBaseGone ? [{ id: left }] : []
])

/** The bases that changes are about. @param {Change[]} changes */
const basesOf = changes => changes.flatMap(({ before, after }) => [before?.base, after?.base])

/** What is under the id of a blob, as far as its record tells. @param {BlobRecord} record @returns {DoomedData} */
const dataOf = ({ id, size, complete, home }) =>
  ({ id, mayHaveFile: home !== 'extents', isOneGroup: home === 'extents' && complete && size <= GROUP_LEN })
