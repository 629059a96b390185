// Puts whole blobs: writes their bytes under a new id before the hash is known, and then commits the record.

import { multihashOf, toCid } from '../../lib/hash/cid.js'
import { nameOf } from '../../lib/hash/roots.js'
import { eitherOf } from '../../lib/source/async-util.js'
import { cancelSource, toPieces } from '../../lib/source/source.js'
import { rangesLen } from '../../lib/tree/ranges.js'
import { assertFormat, assertMayBeWeak, assertName, tagPropertiesFrom } from '../catalog/names/tag-target.js'
import { TempTag } from '../gc/protection.js'
import { contentOf } from '../storage/content/content-of.js'
import { fullError } from '../storage/errors.js'
import { Expectation } from './expectation.js'
import { IncomingBlob } from './incoming-blob.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { AppendedBlob } from './append/appended-blob.js' */
/** @import { FileBlob } from './import/file-blob.js' */
/** @import { Locks } from '../../lib/async/locks.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { EventLog } from '../catalog/events/event-log.js' */
/** @import { TagCommit, TagIndex } from '../catalog/names/tag-index.js' */
/** @import { Presence } from '../catalog/presence.js' */
/** @import { isIntact } from '../check/blob/inspect-blob.js' */
/** @import { Evictor } from '../gc/evictor.js' */
/** @import { Protection } from '../gc/protection.js' */
/** @import { Activity } from '../storage/concurrency/activity.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { BlobName } from '../blob-store.js' */
/** @import { Quota, Reservation } from '../catalog/quota.js' */
/** @import { PutResult } from './put-many.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Tag, TagFormat } from '../storage/format/tags.js' */
/** @import { ProgressOptions, Source } from '../../lib/core/types.js' */
/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */

/**
 * @typedef {object} PutOptions
 * @property {string | TempTag} [tag]  protects the blob from the moment when it becomes visible: a name, as for
 *   `tags.set`, or a temporary tag
 * @property {TagFormat} [format]  the tag's format. Default: `raw`
 * @property {boolean} [weak]  make a tag that does not protect the blob, as for `tags.set`. Default: false
 * @property {unknown} [meta]  the tag's `meta`, as for `tags.set`
 * @property {number} [ttl]  how long the tag lasts, in milliseconds from the moment when the blob becomes visible
 * @property {Date} [expires]  when the tag expires. Default: never
 * @property {BlobName} [expect]  the hash that the blob must have. If the store already has the whole blob, the source
 *   is not read, and a stream is cancelled
 * @property {number} [size]  how many bytes the blob must have
 * @property {boolean} [alwaysRead]  read the source and compare it with `expect`, even if the store has that blob.
 *   Default: false
 * @property {CID} [alias]  a CID of another hash function that becomes a name of the blob: see `aliases`. The store
 *   does not check this name. A blob that the store lacks is kept under this name only
 * @property {boolean} [recheck]  when the store already has the blob, read it, and replace it if it is damaged. By
 *   default, the store replaces it only if a read or `fsck` has already found damage. Default: false
 * @property {AbortSignal} [signal]
 * @property {ProgressOptions['onProgress']} [onProgress]  gets `baobox:put`
 */

/** The names of all options in `PutOptions`. */
export const PUT_OPTIONS = [
  'tag', 'format', 'weak', 'meta', 'ttl', 'expires', 'expect', 'size', 'alwaysRead', 'alias', 'recheck', 'signal',
  'onProgress'
]

/**
 * How another part of the store puts a blob with `putFilled`.
 *
 * @typedef {object} Filling
 * @property {WriteBytes<any>} writeBytes  not called when the store already has the whole blob that `expect` names
 * @property {MakeBlob} [makeBlob]  makes the blob to fill. Default: an empty blob in a home of its own
 * @property {string} [path]  the file of a reference, in which the bytes stay
 * @property {AbortController} [closing]  aborted when the store is closed
 * @property {() => void} cancel  called if the put ends or fails without a call of `writeBytes`
 */

/**
 * Makes a blob to fill: one that continues another blob in its file, or one whose bytes are in an imported file.
 *
 * @template [Blob=AppendedBlob | FileBlob]
 * @callback MakeBlob
 * @param {number} id  of the new blob
 * @param {(size: number) => void} assertSizeAllowed  throws when the blob must not be that long
 * @returns {Promise<Blob | undefined>} undefined when this is not possible; then an empty blob is filled
 */

/** @typedef {IncomingBlob | AppendedBlob | FileBlob} AnyNewBlob  `IncomingBlob` unless `makeBlob` made another one */

/**
 * Writes all bytes of a blob. Rejects soon after the signal is aborted.
 *
 * @template [Blob=IncomingBlob]
 * @callback WriteBytes
 * @param {Blob} blob
 * @param {AbortSignal} [signal]  aborted by the caller, or when the store is closed
 * @returns {Promise<void>}
 */

/**
 * Says which blob is expected, under which names it is put, and where its bytes are kept.
 *
 * @typedef {object} PutPlan
 * @property {Expectation} expected
 * @property {string | TempTag} [tag]
 * @property {TagFormat} format  of the tag
 * @property {(now: number) => Pick<Tag, 'weak' | 'meta' | 'expires'>} propertiesAt  returns the tag's other properties.
 *   `now`: when the tag is set, in milliseconds since 1970
 * @property {Uint8Array} [alias]  a multihash of the bytes by another hash function. It becomes a name of the blob
 * @property {string} [path]
 * @property {MakeBlob} [makeBlob]
 * @property {boolean} recheck  see `PutOptions`
 * @property {AbortSignal} [signal]
 */

export class BlobWriter {
  #activity
  #catalog
  #databases
  #evictor
  #locks
  #log
  #presence
  #protection
  #quota
  #rareParts
  #tags

  /**
   * @param {object} parts
   * @param {Activity} parts.activity
   * @param {Catalog} parts.catalog
   * @param {Databases} parts.databases
   * @param {Evictor} parts.evictor
   * @param {Locks} parts.locks
   * @param {EventLog} parts.log
   * @param {Presence} parts.presence
   * @param {Protection} parts.protection
   * @param {Quota} parts.quota
   * @param {() => Promise<{ isIntact: isIntact }>} parts.rareParts  called only if a stored blob is checked
   * @param {TagIndex} parts.tags
   */
  constructor ({ activity, catalog, databases, evictor, locks, log, presence, protection, quota, rareParts, tags }) {
    this.#activity = activity
    this.#catalog = catalog
    this.#databases = databases
    this.#evictor = evictor
    this.#locks = locks
    this.#log = log
    this.#presence = presence
    this.#protection = protection
    this.#quota = quota
    this.#rareParts = rareParts
    this.#tags = tags
  }

  /**
   * @param {Source} source @param {PutOptions} options  see `Store.put`
   * @returns {Promise<PutResult>}
   */
  put (source, { onProgress, ...options }) {
    /** @type {WriteBytes} */
    const writeBytes = async (blob, signal) => {
      for await (const piece of toPieces(source, { signal, onProgress, type: 'baobox:put' })) await blob.write(piece)
    }
    // `close` never waits for bytes in memory.
    const closing = source instanceof Uint8Array ? undefined : new AbortController()
    return this.putFilled(options, { writeBytes, closing, cancel: () => cancelSource(source) })
  }

  /**
   * Puts a blob whose bytes `writeBytes` writes.
   *
   * @param {Omit<PutOptions, 'onProgress'>} options @param {Filling} filling
   * @returns {Promise<PutResult>}
   */
  putFilled (options, { writeBytes, makeBlob, path, closing, cancel }) {
    return this.#activity.run(async () => {
      let isReading = false
      const read = (/** @type {AnyNewBlob} */ blob) => {
        isReading = true
        return writeBytes(blob, eitherOf(options.signal, closing?.signal))
      }
      try {
        const { alwaysRead = false, ...rest } = options
        const plan = this.#planOf({ ...rest, path, makeBlob })
        const root = alwaysRead ? undefined : plan.expected.root
        const result = root && await this.#putUnread(root, plan)
        return result ?? await this.#putRead(read, plan)
      } finally {
        if (!isReading) cancel()
      }
    }, closing && (reason => closing.abort(reason)))
  }

  /**
   * Checks the options of a put.
   *
   * @param {Omit<PutOptions, 'alwaysRead' | 'onProgress'> & Pick<Filling, 'path' | 'makeBlob'>} options
   * @returns {PutPlan}
   * @throws {TypeError | RangeError}
   */
  #planOf ({ tag, format = 'raw', weak, meta, ttl, expires, expect, size, alias, recheck = false, ...rest }) {
    const multihash = alias === undefined ? undefined : assertAlias(alias)
    assertFormat(format)
    if (tag instanceof TempTag) tag.assertOf(this.#protection)
    else if (tag !== undefined) assertName('tag', tag)
    const properties = { weak, meta, ttl, expires }
    if (weak) assertMayBeWeak({ format })
    if (typeof tag !== 'string') assertNoTagProperties(properties)
    const expected = new Expectation({ expect, size })
    return { expected, tag, format, propertiesAt: tagPropertiesFrom(properties), alias: multihash, recheck, ...rest }
  }

  /**
   * Puts a blob whose hash the caller knows, without reading the source, if the store already has the blob.
   *
   * @param {Uint8Array} root @param {PutPlan} plan
   * @returns {Promise<PutResult | undefined>} undefined when the source must be read
   */
  async #putUnread (root, plan) {
    plan.signal?.throwIfAborted()
    const release = this.#protection.use(root)
    try {
      return await this.#locks.run(nameOf(root), async () => {
        const { record } = await this.#catalog.find(root)
        if (record === undefined || !await this.#needsNoWrite(root, record, plan)) return undefined
        plan.expected.assertSize(record.size)
        if (plan.tag instanceof TempTag) plan.tag.add(root, { format: plan.format })
        return this.#putAgain(root, record, plan)
      })
    } finally {
      release()
    }
  }

  /**
   * Puts a blob whose source must be read.
   *
   * @param {(blob: AnyNewBlob) => Promise<void>} read  writes the bytes of the source to the blob
   * @param {PutPlan} plan
   * @returns {Promise<PutResult>}
   */
  async #putRead (read, plan) {
    const { expected } = plan
    const databases = this.#databases
    const isReference = plan.path !== undefined
    const id = await databases.ids.newId()
    /** @param {number} size  bytes */
    const assertSizeAllowed = size => {
      expected.assertSizeAllowed(size)
      if (!isReference && size > this.#quota.limit) throw fullError(size, this.#quota.limit)
    }
    const made = await plan.makeBlob?.(id, assertSizeAllowed).catch(error => {
      databases.ids.release(id)
      throw error
    })
    const blob = made ?? new IncomingBlob(databases, id, assertSizeAllowed)
    let release = () => {}
    try {
      assertSizeAllowed(expected.size ?? 0)
      await read(blob)
      expected.assertSize(blob.size)
      const root = blob.root()
      expected.assertRoot(root)
      release = this.#protection.use(root)
      if (plan.tag instanceof TempTag) plan.tag.add(root, { format: plan.format })
      /** @param {ChunkRanges} present */
      const lenBeyond = present =>
        isReference ? 0 : Math.max(0, blob.size - blob.sharedLen - rangesLen(present, blob.size))
      const reservation = await this.#evictor.reserve(root, lenBeyond)
      try {
        return await this.#locks.run(nameOf(root), () => this.#commit(id, root, blob, { ...plan, reservation }))
      } finally {
        reservation.release()
      }
    } catch (error) {
      await this.#giveUp(id, blob)
      throw error
    } finally {
      release()
      await blob.release()
      if (!blob.mayBeRecorded) databases.ids.release(id)
    }
  }

  /**
   * Commits the record of a written blob, unless the store already has the blob. The caller holds the blob's lock.
   *
   * @param {number} id @param {Uint8Array} root @param {AnyNewBlob} blob
   * @param {PutPlan & { reservation: Reservation }} plan
   * @returns {Promise<PutResult>}
   */
  async #commit (id, root, blob, plan) {
    const { isThere, record: before } = await this.#catalog.find(root)
    const isWhole = before !== undefined && await this.#isWhole(root, before, plan)
    if (isWhole && await this.#mayStay(root, before, plan)) {
      const result = await this.#putAgain(root, before, plan)
      await this.#discard(id, blob)
      return result
    }
    const { reservation, alias, path, signal } = plan
    // Write the data first, and then the record that names it, so that the two databases stay consistent.
    await blob.finish()
    signal?.throwIfAborted()
    // If the blob was present in part, or damaged, it keeps its own name if it had one.
    const isNameless = alias !== undefined && (!isThere || before?.isNameless === true)
    /** @type {BlobRecord} */
    const record = {
      id,
      size: blob.size,
      sizeProven: true,
      complete: true,
      home: blob.home,
      base: blob.base,
      created: Date.now(),
      isNameless
    }
    const lenBefore = before === undefined ? 0 : await this.#presence.len(before)
    const gained = await this.#presence.len(record) - lenBefore
    const aliases = alias === undefined ? [] : [alias]
    const change = { root, before, after: record, gained, reservations: [reservation], aliases, path }
    /** @param {TagCommit} [tags] */
    const commit = tags => {
      blob.assertMayCommit()
      blob.mayBeRecorded = true
      return this.#catalog.commit([change], tags)
    }
    const tagging = tagOf(root, plan, this.#log.now())
    await (tagging === undefined ? commit() : this.#tags.set([tagging], commit))
    blob.mayBeRecorded = false // because the write of the record is acknowledged
    return { cid: toCid(root), size: blob.size, isNew: !isWhole }
  }

  /**
   * Returns true if the store already has the whole blob, and the bytes may stay where they are.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {PutPlan} plan
   */
  async #needsNoWrite (root, record, plan) {
    return await this.#mayStay(root, record, plan) && this.#isWhole(root, record, plan)
  }

  /**
   * Returns true if the store has the whole blob. With `recheck`, this reads all bytes; otherwise it trusts the record.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {PutPlan} plan
   */
  async #isWhole (root, record, { recheck, signal }) {
    if (!record.complete || !recheck) return record.complete
    const { isIntact } = await this.#rareParts()
    return isIntact(this.#databases, root, record, signal)
  }

  /**
   * Returns true if the bytes may stay where they are. The bytes of a copy always may. The bytes of a reference may not
   * if this put makes a copy or refers to another file, because the record must then name what was just read.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {PutPlan} plan
   */
  #mayStay (root, record, { path }) { return contentOf(this.#databases, root, record).mayStay(path) }

  /**
   * Gives the tag and alias of this put to a blob that the store already has. The caller holds the blob's lock.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {PutPlan} plan
   * @returns {Promise<PutResult>}
   */
  async #putAgain (root, record, plan) {
    const tagging = tagOf(root, plan, this.#log.now())
    if (tagging !== undefined) await this.#tags.set([tagging])
    await this.#catalog.putAgain(root, record, plan.alias)
    return { cid: toCid(root), size: record.size, isNew: false }
  }

  /**
   * Deletes the data of a blob whose put has failed. If its record may have been written, the data stays as a leftover.
   *
   * @param {number} id @param {AnyNewBlob} blob
   */
  async #giveUp (id, blob) {
    if (!blob.mayBeRecorded) return this.#discard(id, blob)
    await blob.endWrites()
    this.#activity.noteLeftovers()
  }

  /** Deletes the data of a blob that has no record. @param {number} id @param {AnyNewBlob} blob */
  async #discard (id, blob) {
    await blob.endWrites()
    if (!blob.isWritten) return
    try {
      await this.#databases.deleteData(id)
    } catch {
      this.#activity.noteLeftovers()
    }
  }
}

/**
 * Returns the multihash of an alias.
 *
 * @param {CID} alias
 * @throws {TypeError} when it is not a CID, or a CID of BLAKE3
 */
export function assertAlias (alias) {
  const multihash = multihashOf(alias)
  if (multihash !== undefined) return multihash
  throw new TypeError(`"alias" expected a CID of another hash function than BLAKE3, got ${alias}`)
}

/**
 * Returns the tag that a put gives to its blob; undefined for none.
 *
 * @param {Uint8Array} root @param {PutPlan} plan @param {number} now  milliseconds since 1970
 * @returns {Tag | undefined}
 */
const tagOf = (root, { tag, format, propertiesAt }, now) =>
  typeof tag === 'string' ? { name: tag, root, format, ...propertiesAt(now) } : undefined

/**
 * Throws if there are properties for a tag, but no named tag that could have them.
 *
 * @param {Pick<PutOptions, 'weak' | 'meta' | 'ttl' | 'expires'>} properties
 */
export function assertNoTagProperties (properties) {
  const given = Object.entries(properties).find(([, value]) => value !== undefined)
  if (given === undefined) return
  throw new TypeError(`"${given[0]}" needs a "tag" that is a name: give one, or leave out "${given[0]}"`)
}
