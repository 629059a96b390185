// Makes the two levels of a store. In Node.js, a level is a LevelDB; in browsers, an IndexedDB.
//
// There are two levels because LevelDB sorts its entries. Data is written under increasing ids, so LevelDB never moves
// it. The index is small, and is written in random order. In one database, each would slow down the other.

import { Level } from 'level'
import { realPath } from '#disk'
import { VIEWS } from '../format/keys.js'
import { BlobLevel } from './blob-level.js'
import { IndexedLevel } from './indexed-level.js'

/**
 * The part of abstract-level 3's `AbstractLevel` that a store uses. The store does not import the types of that
 * package, because they need the types of Node.js, which programs for browsers do not have.
 *
 * @typedef {object} AnyLevel  keys and values are bytes
 * @property {string} status
 * @property {{ [feature: string]: any }} supports
 * @property {boolean} [readsParts]  true if `get` takes the option `part`: see `BlobLevel`
 * @property {(options?: any) => Promise<void>} open
 * @property {() => Promise<void>} close
 * @property {(key: any, value: any, options: any) => Promise<void>} put
 * @property {(key: any, options: any) => Promise<any>} get
 * @property {(key: any, options: any) => any} getSync
 * @property {(keys: any[], options: any) => Promise<any[]>} getMany
 * @property {(keys: any[], options: any) => Promise<boolean[]>} hasMany
 * @property {(operations: any[], options: any) => Promise<void>} batch
 * @property {(options: any) => Promise<void>} clear
 * @property {(options: any) => AsyncIterable<[any, any]> & {
 *   next (): Promise<[any, any] | undefined>, nextv (size: number, options?: any): Promise<[any, any][]>,
 *   all (): Promise<[any, any][]>, seek (key: any, options?: any): void, close (): Promise<void> }} iterator
 * @property {(options: any) => AsyncIterable<any> & {
 *   next (): Promise<any>, nextv (size: number, options?: any): Promise<any[]>, all (): Promise<any[]>,
 *   seek (key: any, options?: any): void, close (): Promise<void> }} keys
 * @property {() => { close (): Promise<void> }} snapshot
 */
/** @typedef {{ index: AnyLevel, data: AnyLevel }} DatabasePair */

/**
 * Bytes of entries that LevelDB gathers in memory before it writes a table. LevelDB may hold twice as much while it
 * writes a table. When 10 000 blobs of 4 KiB are put, each takes 23 us of processor time with LevelDB's default of 4
 * MiB, and 17 us with 32 MiB. 16 MiB are as fast as 32, and keep the process below 150 MB for a store of a million
 * blobs.
 */
const WRITE_BUFFER_LEN = 1 << 24

/** @typedef {'LevelDB' | 'IndexedDB' | 'given'} Kind  `given`: the caller has passed two levels of any kind */

/** The kind of levels that this runtime makes. Only LevelDB can repair its files. @type {Kind} */
export const OUR_KIND = 'repair' in Level ? 'LevelDB' : 'IndexedDB'

/** The names of the databases, and of their folders in the directory of a store. @type {('index' | 'data')[]} */
export const NAMES = ['index', 'data']
/** Options for new levels. Data is not compressed, because most content is compressed already. */
const LEVEL_OPTIONS = {
  index: VIEWS,
  data: { ...VIEWS, compression: false, writeBufferSize: WRITE_BUFFER_LEN, maxFileSize: WRITE_BUFFER_LEN }
}

/** Makes the level of this name, without opening it. @param {'index' | 'data'} name @param {string} path */
export function newLevel (name, path) {
  const Kind = OUR_KIND === 'LevelDB' ? Level : name === 'data' ? BlobLevel : IndexedLevel
  return /** @type {AnyLevel} */ (new Kind(path, LEVEL_OPTIONS[name]))
}

/**
 * Makes the two levels of a store, without opening them.
 *
 * @param {string} location  the real path, because LevelDB knows by their paths which files this process has locked
 * @returns {DatabasePair}
 */
export const levelsAt = location =>
  ({ index: newLevel('index', `${location}/index`), data: newLevel('data', `${location}/data`) })

/**
 * Returns true if another process has this database open. Callers hold the location of the store, because this call
 * would release a lock that this process itself has.
 *
 * @param {string} path
 */
export async function isOpen (path) {
  // LevelDB takes its lock first. Then these options make the call fail before LevelDB reads or writes anything.
  const level = new Level(await realPath(path), { ...VIEWS, createIfMissing: false, errorIfExists: true })
  const error = await level.open().then(() => undefined, error => error)
  return isLocked(error)
}

/** @param {unknown} error  of LevelDB, or with an error of LevelDB as its cause */
export const isLocked = error =>
  [error, /** @type {any} */ (error)?.cause].some(({ code } = {}) => code === 'LEVEL_LOCKED')
