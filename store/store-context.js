// What the parts of one open store share: made when the store is opened, and ended when it is closed. This file stands
// beside the folders of exchange because it imports from all other folders of the store.

import { assertInteger, describe } from '../lib/core/bytes.js'
import { assertKnownOptions } from '../lib/core/options.js'
import { Catalog } from './catalog/catalog.js'
import { Census } from './catalog/calls/info.js'
import { Observers } from './catalog/events/observers.js'
import { TagIndex } from './catalog/names/tag-index.js'
import { Presence } from './catalog/presence.js'
import { Quota } from './catalog/quota.js'
import { DamageNotes } from './check/damage-notes.js'
import { Orphans } from './check/orphans.js'
import { Collector } from './gc/collector.js'
import { Evictor } from './gc/evictor.js'
import { Protection } from './gc/protection.js'
import { BlobAccess } from './read/blob-access.js'
import { BlobReader } from './read/reader.js'
import { SliceReader } from './read/slice-reader.js'
import { Supplies } from './read/supplies.js'
import { Activity } from './storage/concurrency/activity.js'
import { Lifetime } from './storage/concurrency/lifetime.js'
import { Locks } from '../lib/async/locks.js'
import { forbidSyncReads } from './storage/content/read-pace.js'
import { asStoreFull, closedError } from './storage/errors.js'
import { openDatabases } from './storage/opening/open.js'
import { openReadOnly } from './storage/opening/read-only.js'
import { Appender } from './write/append/append.js'
import { BlobWriter } from './write/put.js'
import { BlobReceiver } from './write/receive/receive.js'

/** @import { Supply } from './read/supplies.js' */
/** @import { Databases } from './storage/databases.js' */
/** @import { DatabasePair } from './storage/level/levels.js' */

/**
 * @typedef {object} StoreOptions
 * @property {'sync' | 'process'} [durability]  what a resolved write survives: `sync` a power cut, `process` the end
 *   of the process. Default: `sync`
 * @property {boolean} [verify]  compare what is read with the hash? Default: true
 * @property {boolean} [syncReads]  may small reads block this thread where that is quicker? `false` has every read
 *   wait for the disk on another thread. Default: true
 * @property {number} [quota]  bytes of blobs that the store may keep. When more come, blobs that nothing protects are
 *   deleted, those first that were not used for the longest time. Default: no limit
 * @property {Supply} [supply]  brings what a read finds damaged or missing, also of a blob of which the store has
 *   nothing: `async (cid, ranges, { size, reason, signal }) => source`, a slice of exactly these ranges, as `receive`
 *   takes it. The read waits for it, and then goes on. It must not read the same blob from this store
 * @property {boolean} [create]  create a store where there is none? Otherwise STORE_ABSENT { location }. Default: true
 * @property {boolean} [readOnly]  open the store without changing anything in its directory, which other processes
 *   may have open? Calls that write fail with STORE_READ_ONLY { location }. Default: false
 * @property {string} [tempDir]  where the copy of the databases is made that `readOnly` needs: it takes as much space
 *   as they do, and is gone when the store is closed. Default: the folder of the system for temporary files
 * @property {number} [wait]  milliseconds to try again while the store is open elsewhere. Default: 0
 * @property {AbortSignal} [signal]  ends the waiting, and the opening, which after a crash takes longer the more
 *   blobs there are
 */

const STORE_OPTIONS = [
  'durability', 'verify', 'syncReads', 'quota', 'supply', 'create', 'readOnly', 'tempDir', 'wait', 'signal'
]

/**
 * Everything that the parts of one open store share. A store makes one context and passes it whole, so a part may use
 * every other part, but not before all of them are made.
 */
export class StoreContext {
  #closing = /** @type {Promise<void> | undefined} */ (undefined)
  /** One lock for each blob: storage/concurrency/locks.js. */
  locks = new Locks()
  /** catalog/events/observers.js */
  observers = new Observers()
  /** gc/protection.js */
  protection = new Protection()

  /**
   * @param {Databases} databases
   * @param {Pick<StoreOptions, 'verify' | 'syncReads' | 'quota' | 'supply'>} [options]
   * @param {string} [location]  as the caller has named it
   */
  constructor (databases, { verify = true, syncReads = true, quota, supply } = {}, location) {
    this.databases = databases // storage/databases.js
    this.location = location
    /** Calls that are under way: storage/concurrency/activity.js. */
    this.activity = new Activity(() => databases.assertWritable())
    if (!syncReads) for (const place of [databases.index, databases.data, databases.files]) forbidSyncReads(place)
    /** Are bytes compared with the hash when they are read? */
    this.verifies = verify
    this.syncReads = syncReads
    this.life = new Lifetime(() => databases.whenReady()) // storage/concurrency/lifetime.js
    this.quota = new Quota(quota) // catalog/quota.js
    this.presence = new Presence(databases) // catalog/presence.js
    this.catalog = new Catalog(this) // catalog/catalog.js
    this.tags = new TagIndex(this) // catalog/names/tag-index.js
    this.damage = new DamageNotes(this) // check/damage-notes.js
    this.supplies = new Supplies(this, supply) // read/supplies.js
    this.access = new BlobAccess(this) // read/blob-access.js
    this.reader = new BlobReader(this, this.access) // read/reader.js
    this.slices = new SliceReader(this, this.access) // read/slice-reader.js
    this.writer = new BlobWriter(this) // write/put.js
    this.appender = new Appender(this) // write/append/append.js
    this.receiver = new BlobReceiver(this) // write/receive/receive.js
    this.orphans = new Orphans(this) // check/orphans.js
    this.collector = new Collector(this) // gc/collector.js
    this.evictor = new Evictor(this) // gc/evictor.js
    this.census = new Census(this) // catalog/calls/info.js
    this.catalog.subscribe(this.presence, this.quota, this.observers, this.protection, this.census)
  }

  /**
   * See `BlobStore.open`.
   *
   * @param {string | DatabasePair} where @param {StoreOptions} options
   * @returns {Promise<StoreContext>}
   */
  static async open (where, options) {
    assertOptions(options)
    const { durability, create = true, wait = 0, readOnly = false, tempDir, signal } = options
    const databases = readOnly
      ? await openReadOnly(where, { tempDir, signal })
      : await openDatabases(where, { sync: durability !== 'process', create, wait, signal })
    const context = new StoreContext(databases, options, typeof where === 'string' ? where : undefined)
    try {
      await context.catalog.log.start()
      if (databases.left !== undefined) await context.orphans.sweepLeft(databases.left, signal)
      await context.evictor.start()
    } catch (error) {
      await context.close()
      throw error
    }
    return context
  }

  /** Ends what is under way and closes the databases. Every call gives the same promise. */
  close () {
    this.life.end()
    this.observers.end()
    this.catalog.log.end()
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close () {
    try {
      await this.activity.end(closedError())
      await this.catalog.uses.flush().finally(() => this.databases.close(this.activity.isClean))
    } catch (error) {
      throw asStoreFull(error)
    }
  }
}

/** @param {StoreOptions} options @throws {TypeError | RangeError} */
function assertOptions (options) {
  assertKnownOptions(options, STORE_OPTIONS)
  const { durability = 'sync', quota, supply, readOnly = false, tempDir, wait = 0 } = options
  if (durability !== 'sync' && durability !== 'process') {
    throw new TypeError(`"durability" expected 'sync' or 'process', got '${durability}'`)
  }
  if (quota !== undefined) assertInteger('quota', quota)
  if (wait !== Infinity) assertInteger('wait', wait)
  if (supply !== undefined && typeof supply !== 'function') {
    throw new TypeError(`"supply" expected a function, got ${describe(supply)}`)
  }
  if (tempDir !== undefined && typeof tempDir !== 'string') {
    throw new TypeError(`"tempDir" expected the path of a directory, got ${describe(tempDir)}`)
  }
  if (readOnly && quota !== undefined) throw new TypeError('"quota" is of no use to a store that is "readOnly"')
  if (readOnly && supply !== undefined) throw new TypeError('"supply" is of no use to a store that is "readOnly"')
}
