// The level of a store in a browser: `browser-level`, with two differences.
//
// The browser may close a database that a page has open: when the user deletes what a site has stored, or when the
// process that keeps the databases has ended. Every later call of `browser-level` then fails. This level closes itself,
// so that its owner opens it again. And when a lookup of many keys fails, it says so. `browser-level` returns undefined
// for each key that it could not look up, as for keys that do not exist.

import { Level } from 'level'

/** The types of `level` do not have the methods that a level implements. */
const Base = /** @type {new (location: string, options: object) => any} */ (Level)

export class IndexedLevel extends Base {
  /** @param {object} options */
  async _open (options) {
    await super._open(options)
    this.db.onclose = () => { this.close() }
  }

  /** @param {Uint8Array<ArrayBuffer>[]} keys @returns {Promise<(Uint8Array<ArrayBuffer> | undefined)[]>} */
  async _getMany (keys) {
    const values = this.startRead()
    return Promise.all(keys.map(key => resultOf(values.get(key))))
  }

  /** @param {Uint8Array<ArrayBuffer>[]} keys */
  async _hasMany (keys) {
    const values = this.startRead()
    return Promise.all(keys.map(async key => await resultOf(values.count(key)) === 1))
  }

  /** Begins a transaction that reads. @returns {IDBObjectStore} */
  startRead () {
    const { db, location } = this
    return db.transaction([location], 'readonly').objectStore(location)
  }
}

/** @param {IDBRequest} request @returns {Promise<any>} */
export const resultOf = request => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result)
  request.onerror = event => {
    event.preventDefault() // The other reads of the transaction go on.
    reject(request.error)
  }
})
