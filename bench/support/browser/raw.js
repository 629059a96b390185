// Puts bytes into IndexedDB, and reads them, without a store: what an engine takes for each form of the values.

const { indexedDB } = globalThis

/** @typedef {{ len: number, perWrite: number, make: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array | Blob }} Form */

/**
 * `len`: bytes of a value; `perWrite`: values in a transaction; `make`: makes a value. The store writes Blobs of 1
 * MiB, four in a transaction.
 *
 * @type {Record<string, Form>}
 */
export const FORMS = {
  'values of 256 KiB': { len: 1 << 18, perWrite: 4, make: bytes => bytes },
  'Blobs of 256 KiB': { len: 1 << 18, perWrite: 4, make: bytes => new Blob([bytes]) },
  'values of 1 MiB': { len: 1 << 20, perWrite: 4, make: bytes => bytes },
  'Blobs of 1 MiB': { len: 1 << 20, perWrite: 4, make: bytes => new Blob([bytes]) }
}

/** One object store of a database of its own. */
export class RawStore {
  #database

  /** @param {IDBDatabase} database */
  constructor (database) {
    this.#database = database
  }

  /** @param {string} name */
  static async open (name) {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => request.result.createObjectStore('values')
    return new RawStore(await resultOf(request))
  }

  /** @param {Form} form @param {Uint8Array} bytes */
  async put ({ len, perWrite, make }, bytes) {
    for (let at = 0; at < bytes.length; at += len * perWrite) {
      const transaction = this.#database.transaction('values', 'readwrite')
      const done = new Promise((resolve, reject) => {
        transaction.oncomplete = resolve
        transaction.onabort = () => reject(transaction.error)
      })
      const end = Math.min(bytes.length, at + len * perWrite)
      for (let start = at; start < end; start += len) {
        transaction.objectStore('values').put(make(bytes.slice(start, Math.min(end, start + len))), start)
      }
      transaction.commit()
      await done
    }
  }

  /** @param {Form} form @param {number} start  within one value, as `end` is @param {number} end */
  async read ({ len }, start, end) {
    const first = start - start % len
    const value = await resultOf(this.#database.transaction('values').objectStore('values').get(first))
    if (value instanceof Blob) return new Uint8Array(await value.slice(start - first, end - first).arrayBuffer())
    return value.subarray(start - first, end - first)
  }

  close () { this.#database.close() }
}

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
const resultOf = request => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result)
  request.onerror = () => reject(request.error)
})
