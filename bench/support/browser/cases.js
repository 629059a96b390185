// The cases of bench/browser-storage.js, which run in a dedicated worker of a page.

import { hash } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { choice } from './disk.js'
import { openStreams, openSync } from './opfs-folder.js'
import { FORMS, RawStore } from './raw.js'

/** @typedef {{ contestant: string, size: number, reads: number, readLen: number }} Job */
/**
 * @typedef {object} Place
 * @property {(bytes: Uint8Array<ArrayBuffer>) => Promise<unknown>} put
 * @property {() => Promise<number>} get  reads all bytes; returns how many
 * @property {(start: number, end: number) => Promise<Uint8Array>} read
 */

/** Where a store keeps the bytes of long blobs. */
const OPENERS = { 'OPFS, synchronous handles': openSync, 'OPFS, streams and Blobs': openStreams }

const { IDBObjectStore, indexedDB, navigator } = globalThis
const { put } = IDBObjectStore.prototype
/** Replaces `put` of IndexedDB. @type {typeof put} */
function putNoBlob (value, key) {
  if (value instanceof Blob) throw new DOMException('refused', 'DataCloneError')
  return put.call(this, value, key)
}

let bytes = new Uint8Array(0)
let runs = 0

globalThis.onmessage = async ({ data }) => {
  const result = await run(data).then(times => ({ times }), error => ({ error: `${error} ${error.cause ?? ''}` }))
  globalThis.postMessage(result)
}

/** @param {Job} job @returns {Promise<Record<string, number>>} milliseconds by name of the case */
async function run ({ contestant, size, reads, readLen }) {
  if (bytes.length !== size) bytes = randomBytes(size)
  bytes[0] = ++runs
  const name = `bench-${Date.now()}-${runs}`
  const times = /** @type {Record<string, number>} */ ({})
  const timed = async (/** @type {string} */ what, /** @type {() => unknown} */ work) => {
    const start = performance.now()
    await work()
    times[what] = performance.now() - start
  }
  const use = contestant in FORMS ? useRaw : useStore
  try {
    await use(contestant, name, place => timed('put', () => place.put(bytes)))
    await use(contestant, name, async place => { // opened again, so that nothing is left in the memory of the store
      await timed('get', async () => {
        if (await place.get() !== size) throw new Error('some bytes were not read')
      })
      await timed('read', async () => {
        for (let i = 0; i < reads; i++) {
          const start = Math.floor(Math.random() * (size / readLen)) * readLen
          const [first] = await place.read(start, start + readLen)
          if (first !== bytes[start]) throw new Error('wrong bytes were read')
        }
      })
      times.read /= reads
    })
  } finally {
    await remove(name)
  }
  return times
}

/** @param {string} contestant @param {string} name @param {(place: Place) => Promise<void>} work */
async function useStore (contestant, name, work) {
  choice.open = OPENERS[/** @type {keyof typeof OPENERS} */ (contestant)]
  IDBObjectStore.prototype.put = contestant === 'IndexedDB without Blobs' ? putNoBlob : put
  const store = await BlobStore.open(name)
  const cid = hash(bytes)
  try {
    await work({
      put: bytes => store.put(bytes),
      async get () {
        let len = 0
        for await (const piece of store.get(cid, undefined, { reuse: true })) len += piece.length
        return len
      },
      read: (start, end) => store.bytes(cid, { start, end })
    })
  } finally {
    await store.close()
  }
}

/** @param {string} contestant @param {string} name @param {(place: Place) => Promise<void>} work */
async function useRaw (contestant, name, work) {
  IDBObjectStore.prototype.put = put
  const form = FORMS[contestant]
  const store = await RawStore.open(name)
  try {
    await work({
      put: bytes => store.put(form, bytes),
      async get () {
        let len = 0
        while (len < bytes.length) len += (await store.read(form, len, len - len % form.len + form.len)).length
        return len
      },
      read: (start, end) => store.read(form, start, end)
    })
  } finally {
    store.close()
  }
}

/** @param {string} name  of a store */
async function remove (name) {
  for (const { name: database } of await indexedDB.databases()) {
    if (!database?.includes(name)) continue
    await new Promise((resolve, reject) => {
      const request = indexedDB.deleteDatabase(database)
      request.onsuccess = resolve
      request.onerror = reject
    })
  }
  const root = await navigator.storage?.getDirectory().catch(() => undefined)
  await root?.removeEntry(encodeURIComponent(`${name}/blobs`), { recursive: true }).catch(() => {})
}

/** @param {number} len */
function randomBytes (len) {
  const filled = new Uint8Array(len)
  for (let at = 0; at < len; at += 1 << 16) crypto.getRandomValues(filled.subarray(at, at + (1 << 16)))
  return filled
}
