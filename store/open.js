// Opens and closes a store, and makes its parts. Each part gets exactly the parts that it uses, by name.

import { loadRareParts } from '#rare-parts'
import { assertInteger, describe } from '../lib/core/bytes.js'
import { assertKnownOptions } from '../lib/core/options.js'
import { later } from '../lib/async/later.js'
import { Locks } from '../lib/async/locks.js'
import { Deleter } from './catalog/calls/deleter.js'
import { Census } from './catalog/calls/census.js'
import { Lister } from './catalog/calls/list.js'
import { Lookups } from './catalog/calls/lookups.js'
import { Catalog } from './catalog/catalog.js'
import { EventLog } from './catalog/events/event-log.js'
import { Observers } from './catalog/events/observers.js'
import { Watcher } from './catalog/events/watch.js'
import { AliasIndex } from './catalog/names/alias-index.js'
import { TagIndex } from './catalog/names/tag-index.js'
import { Presence } from './catalog/presence.js'
import { Quota } from './catalog/quota.js'
import { Records } from './catalog/records.js'
import { Uses } from './catalog/uses.js'
import { DamageNotes } from './check/damage-notes.js'
import { Orphans } from './check/orphans.js'
import { Evictor } from './gc/evictor.js'
import { Protection } from './gc/protection.js'
import { BlobAccess } from './read/blob-access.js'
import { ManyReader } from './read/get-many.js'
import { BlobReader } from './read/reader.js'
import { Reads } from './read/reads.js'
import { SliceReader } from './read/slice-reader.js'
import { Supplies } from './read/supplies.js'
import { Activity } from './storage/concurrency/activity.js'
import { Lifetime } from './storage/concurrency/lifetime.js'
import { forbidSyncReads } from './storage/content/sync-reads.js'
import { asStoreFull, closedError } from './storage/errors.js'
import { openDatabases, pathIn } from './storage/opening/open.js'
import { ManyWriter } from './write/put-many.js'
import { BlobWriter } from './write/put.js'
import { BlobReceiver } from './write/receive/receive.js'

/** @import { ProgressOptions } from '../lib/core/types.js' */
/** @import { BlobStore } from './blob-store.js' */
/** @import { FsckReport } from './check/fsck.js' */
/** @import { RareParts } from './parts/rare.js' */
/** @import { Supply } from './read/supplies.js' */
/** @import { Databases } from './storage/databases.js' */
/** @import { DatabasePair } from './storage/level/levels.js' */

/**
 * @typedef {object} StoreOptions
 * @property {'sync' | 'process'} [durability]  what a resolved write survives: a power cut (`sync`), or only the end of
 *   the process (`process`). Default: `sync`
 * @property {boolean} [verify]  compare what is read with the hash. Default: true
 * @property {boolean} [syncReads]  let small reads block this thread where that is quicker. With `false`, every read
 *   waits for the disk on another thread. Default: true
 * @property {number} [quota]  bytes of blobs that the store may keep. To make space, the store deletes blobs that
 *   nothing protects, the least recently used ones first. Default: no limit
 * @property {Supply} [supply]  fetches groups that a read finds damaged or missing, even those of a blob that is not in
 *   the store: `async (cid, ranges, { size, reason, signal }) => source`. The source is a slice of exactly these
 *   ranges, as `receive` takes it. The read waits for the groups, and then continues. The function must not read the
 *   same blob from this store
 * @property {number} [maxMissAge]  milliseconds for which the store remembers that `supply` has nothing of a blob. 0 to
 *   ask again at each read. Default: 5000
 * @property {boolean} [create]  create a store if none exists. With `false`, a missing store throws STORE_ABSENT {
 *   location }. Default: true
 * @property {boolean} [readOnly]  open the store without changing anything in its directory, which other processes
 *   may have open. Calls that write fail with STORE_READ_ONLY { location }. Default: false
 * @property {string | URL} [tempDir]  the folder for the copy of the databases that `readOnly` makes. The copy takes as
 *   much space as the databases do, and is deleted when the store is closed. Default: the system's folder for temporary
 *   files
 * @property {number} [wait]  how long to keep trying while the store is open elsewhere, in milliseconds. Default: 0
 * @property {AbortSignal} [signal]  ends the waiting and the opening. After a crash, the time to open a store grows
 *   with the number of its blobs
 */

const STORE_OPTIONS = [
  'durability', 'verify', 'syncReads', 'quota', 'supply', 'maxMissAge', 'create', 'readOnly', 'tempDir', 'wait',
  'signal'
]

/** @typedef {ReturnType<typeof wire>} StoreParts  the parts of an open store, for `BlobStore` and for tests */

const all = /** @type {WeakMap<object, StoreParts>} */ (new WeakMap())

/** Remembers the parts of a store for `partsOf`. @param {BlobStore} store @param {StoreParts} parts */
export const keepParts = (store, parts) => { all.set(store, parts) }

/** Returns the parts of a store, for tests. @param {BlobStore} store */
export const partsOf = store => all.get(store)

/**
 * See `BlobStore.open`.
 *
 * @param {string | URL | DatabasePair} place @param {StoreOptions} options
 * @returns {Promise<StoreParts>}
 */
export async function openStore (place, options) {
  assertOptions(options)
  const where = pathIn(place)
  const { durability, create = true, wait = 0, readOnly = false, tempDir, signal } = options
  const databases = readOnly
    ? await (await loadRareParts()).openReadOnly(where, { tempDir: pathIn(tempDir), signal })
    : await openDatabases(where, { sync: durability !== 'process', create, wait, signal })
  const parts = wire(databases, options, typeof where === 'string' ? where : undefined)
  try {
    await parts.log.start()
    if (databases.leftovers !== undefined) await parts.orphans.sweepLeftovers(databases.leftovers, signal)
    await parts.evictor.start()
  } catch (error) {
    await parts.close()
    throw error
  }
  return parts
}

/**
 * See `BlobStore.rescue`.
 *
 * @param {string | URL} location @param {ProgressOptions} options
 * @returns {Promise<FsckReport>}
 */
export async function rescueStore (location, options) {
  const { rescueDatabases } = await loadRareParts()
  return rescueDatabases(pathIn(location), async (databases, lostBytes) => {
    const { close, log, rareParts } = wire(databases)
    try {
      await log.begin()
      const { fsck } = await rareParts()
      return { ...await fsck.run({ ...options, repair: true, losses: 'records' }), lostBytes }
    } finally {
      await close()
    }
  }, options.signal)
}

/**
 * Makes the parts of a store. Each part gets only parts that were made before it.
 *
 * @param {Databases} databases
 * @param {Pick<StoreOptions, 'verify' | 'syncReads' | 'quota' | 'supply' | 'maxMissAge'>} [options]
 * @param {string} [location]  as the caller has named it
 */
function wire (databases, options = {}, location) {
  const { verify: verifies = true, syncReads = true, quota: limit, supply, maxMissAge } = options
  const { index } = databases
  if (!syncReads) for (const place of [index, databases.data, databases.files]) forbidSyncReads(place)

  // The calls under way, and the blobs that they protect.
  const life = new Lifetime(() => databases.whenReady())
  const activity = new Activity(() => databases.assertWritable())
  // The locks have an order: `quota`, `gc`, blobs (the names of their roots), tags (`tag` and the name). A call that
  // holds a lock asks only for later ones. It locks several blobs, or several tags, in one request.
  const locks = new Locks()
  const protection = new Protection()
  const quota = new Quota(limit)

  // The blobs, and their names.
  const presence = new Presence(databases)
  const aliases = new AliasIndex(index)
  const uses = new Uses(index, new Records(databases))
  const log = new EventLog(databases)
  const onLeftovers = () => activity.noteLeftovers()
  const catalog = new Catalog({ databases, presence, aliases, uses, log, onLeftovers })
  const tags = new TagIndex({ databases, catalog, aliases, log, locks, protection })
  const observers = new Observers({ catalog, life, locks, presence })
  const census = new Census({ catalog, databases, life, log, presence, quota, tags })
  catalog.subscribe(presence, quota, observers, protection, census)
  const watcher = new Watcher({ index, life, log })
  const lister = new Lister({ catalog, databases, life, uses })
  const lookups = new Lookups({ aliases, catalog, databases, presence, uses })
  const deleter = new Deleter({ catalog, databases, locks, tags })

  // Deletion, damage and repair.
  const access = new BlobAccess({ catalog, databases, life, presence, protection })
  /** Makes the parts that few calls need, which use almost all others. @type {() => Promise<RareParts>} */
  const rareParts = later(async () => (await loadRareParts()).makeRareParts({
    access,
    activity,
    aliases,
    catalog,
    databases,
    deleter,
    locks,
    orphans,
    presence,
    protection,
    reader,
    reads,
    tags,
    uses,
    verifies,
    writer
  }))
  const orphans = new Orphans({ catalog, databases, rareParts })
  const evictor = new Evictor({ catalog, databases, locks, presence, quota, rareParts, tags, uses })
  const damage = new DamageNotes({ activity, catalog, databases, locks, presence, rareParts })

  // Reads and writes of bytes.
  const receiver = new BlobReceiver({
    activity, catalog, damage, databases, evictor, locks, presence, protection, quota, uses
  })
  const supplies = new Supplies({ activity, catalog, presence, protection, quota, receiver }, { supply, maxMissAge })
  const reads = new Reads({ catalog, damage, databases, life, presence, supplies, uses })
  const reader = new BlobReader({ access, databases, life, protection, reads, verifies })
  const manyReader = new ManyReader({ catalog, databases, life, reader, uses, verifies })
  const slices = new SliceReader({ access, databases, protection, reads, verifies })
  const writer = new BlobWriter({
    activity, catalog, databases, evictor, locks, log, presence, protection, quota, rareParts, tags
  })
  const manyWriter = new ManyWriter({
    activity, catalog, databases, life, locks, presence, protection, quota, uses, writer
  })

  /** @type {Promise<void> | undefined} */
  let closing
  const end = async () => {
    try {
      await activity.end(closedError())
      await uses.flush().finally(() => databases.close(activity.isClean))
    } catch (error) {
      throw asStoreFull(error)
    }
  }
  /** Ends all calls that are under way, and closes the databases. Every call returns the same promise. */
  const close = () => {
    life.end()
    observers.end()
    log.end()
    closing ??= end()
    return closing
  }

  return {
    access,
    activity,
    aliases,
    catalog,
    census,
    close,
    damage,
    databases,
    deleter,
    evictor,
    life,
    lister,
    location,
    locks,
    log,
    lookups,
    manyReader,
    manyWriter,
    observers,
    orphans,
    presence,
    protection,
    quota,
    rareParts,
    reader,
    reads,
    receiver,
    slices,
    supplies,
    syncReads,
    tags,
    uses,
    verifies,
    watcher,
    writer
  }
}

/** @param {StoreOptions} options @throws {TypeError | RangeError} */
function assertOptions (options) {
  assertKnownOptions(options, STORE_OPTIONS)
  const { durability = 'sync', quota, supply, maxMissAge, readOnly = false, tempDir, wait = 0 } = options
  if (durability !== 'sync' && durability !== 'process') {
    throw new TypeError(`"durability" expected 'sync' or 'process', got '${durability}'`)
  }
  if (quota !== undefined) assertInteger('quota', quota)
  if (wait !== Infinity) assertInteger('wait', wait)
  if (supply !== undefined && typeof supply !== 'function') {
    throw new TypeError(`"supply" expected a function, got ${describe(supply)}`)
  }
  if (maxMissAge !== undefined) {
    assertInteger('maxMissAge', maxMissAge)
    if (supply === undefined) throw new TypeError('"maxMissAge" has no effect without "supply"')
  }
  if (tempDir !== undefined && typeof tempDir !== 'string' && !(tempDir instanceof URL)) {
    throw new TypeError(`"tempDir" expected the path of a directory, got ${describe(tempDir)}`)
  }
  if (readOnly && quota !== undefined) throw new TypeError('"quota" has no effect on a store that is "readOnly"')
  if (readOnly && supply !== undefined) throw new TypeError('"supply" has no effect on a store that is "readOnly"')
}
