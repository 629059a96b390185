// Makes the two levels that a store is kept in. In Node.js a level is a LevelDB, in browsers an IndexedDB.
//
// There are two levels because LevelDB sorts its entries. Data is written under increasing ids, so LevelDB never moves
// it; the index is small and is written in random order. In one database each would slow the other down.

import { Level } from 'level'
import { realPath } from '#disk'
import { VIEWS } from '../format/keys.js'

/**
 * The part of abstract-level 3's `AbstractLevel` that a store uses. The declarations of that package need those of
 * Node.js, which programs for browsers do not have, so the store does not import its types.
 *
 * @typedef {object} AnyLevel  keys and values are bytes
 * @property {string} status
 * @property {{ [feature: string]: any }} supports
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
 * Bytes of entries that LevelDB gathers in memory before it writes a table. It may hold twice as many while a table is
 * written. With LevelDB's own 4 MiB, 10 000 blobs of 4 KiB cost 23 us of processor time each, with 32 MiB 17; 16 MiB
 * are as quick as 32, and keep the process below 150 MB for a store of a million blobs.
 */
const WRITE_BUFFER_LEN = 1 << 24

/** @typedef {'LevelDB' | 'IndexedDB' | 'given'} Kind  `given`: the caller gave two levels, of whatever kind */

/** The kind of levels that this runtime makes. Only LevelDB can repair its files. @type {Kind} */
export const OUR_KIND = 'repair' in Level ? 'LevelDB' : 'IndexedDB'

/** The names of the databases, which are beside each other in the directory of a store. @type {('index' | 'data')[]} */
export const NAMES = ['index', 'data']
/** Options for new levels. Data is not compressed: most content is compressed already, and hashing takes time, too. */
const LEVEL_OPTIONS = {
  index: VIEWS,
  data: { ...VIEWS, compression: false, writeBufferSize: WRITE_BUFFER_LEN, maxFileSize: WRITE_BUFFER_LEN }
}

/** Makes the level of this name, without opening it. @param {'index' | 'data'} name @param {string} path */
export const newLevel = (name, path) => /** @type {AnyLevel} */ (new Level(path, LEVEL_OPTIONS[name]))

/**
 * Makes the two levels of a store, without opening them.
 *
 * @param {string} location  the real path: LevelDB notes by their names which files the threads of this process have
 *   locked
 * @returns {DatabasePair}
 */
export const levelsAt = location =>
  ({ index: newLevel('index', `${location}/index`), data: newLevel('data', `${location}/data`) })

/**
 * Does another process have this database open? Callers hold the location of the store: LevelDB would end the lock if
 * this process had it.
 *
 * @param {string} path
 */
export async function isOpen (path) {
  // LevelDB takes its lock first. So this call always fails, before LevelDB reads or writes anything.
  const level = new Level(await realPath(path), { ...VIEWS, createIfMissing: false, errorIfExists: true })
  const error = await level.open().then(() => undefined, error => error)
  return isLocked(error)
}

/** @param {unknown} error  of LevelDB, or its cause */
export const isLocked = error =>
  [error, /** @type {any} */ (error)?.cause].some(({ code } = {}) => code === 'LEVEL_LOCKED')
