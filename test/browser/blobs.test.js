// Tests how a store in a browser keeps the bytes of long blobs: as Blobs in IndexedDB, or as bytes where the browser
// refuses Blobs.
import { expect } from 'chai'
import { Level } from 'level'
import { hash } from '../../lib/index.js'
import { BlobStore } from '../../store/index.js'
import { same } from '../support/bytes.js'
import { KIB, MIB } from '../support/constants.js'
import { collect, errorOf } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { onDisk, sliceOf } from '../support/store/stores.js'

const { Blob, IDBObjectStore, indexedDB } = globalThis
const BYTES = noise(3 * MIB + 70_001, 70)
const ROOT = hash(BYTES)
/** A part in the middle of a long extent. */
const PART = { start: MIB + 300 * KIB + 5, end: MIB + 316 * KIB + 6 }

describe('store: Blobs in IndexedDB', () => {
  let place, store
  beforeEach(async () => {
    place = await onDisk()
    store = await place.open()
  })
  afterEach(() => place.remove())

  const reopen = async () => {
    await store.close()
    store = await place.open()
  }

  const expectRight = async () => {
    expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
    expect(same(await store.bytes(ROOT, PART), BYTES.subarray(PART.start, PART.end))).to.equal(true)
    expect(same(await collect(store.slice(ROOT, PART)), sliceOf(BYTES, PART))).to.equal(true)
    expect(await store.fsck()).to.include({ isSound: true })
  }

  it('are the values of long extents, unless the browser refuses Blobs', async () => {
    const takesBlobs = await canStore(place, new Blob([BYTES]))
    await store.put(BYTES)
    await store.put(noise(200 * KIB, 71))
    const values = (await valuesIn(place)).map(({ value }) => value).filter(value => lengthOf(value) > 16 * KIB)
    expect(values.map(lengthOf)).to.deep.equal([MIB, MIB, MIB, 70_001, 200 * KIB])
    expect(values.map(value => value instanceof Blob)).to.deep.equal([takesBlobs, takesBlobs, takesBlobs, false, false])
    await reopen()
    await expectRight()
    await store.delete(ROOT)
    expect((await valuesIn(place)).map(({ value }) => lengthOf(value))).to.deep.equal([200 * KIB, 776])
  })

  for (const way of ['throws', 'fails']) {
    it(`are replaced by bytes when a write of a Blob ${way}, and both are read`, async () => {
      const first = noise(MIB, 72)
      await store.put(first)
      await store.close()
      const tries = await whileRefused(way, async () => {
        store = await place.open()
        await store.put(BYTES)
        await store.receive(hash(first), sliceOf(first))
        await store.put(noise(2 * MIB, 73))
        await expectRight()
      })
      expect(tries, 'the store tries it once').to.equal(1)
      expect((await valuesIn(place)).filter(({ value }) => value instanceof Blob).length).to.be.at.most(1)
      await reopen()
      await expectRight()
      for (const bytes of [first, noise(2 * MIB, 73)]) {
        expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
      }
    })
  }

  it('are not replaced by bytes when there is no space', async () => {
    const { put } = IDBObjectStore.prototype
    let count = 0
    IDBObjectStore.prototype.put = function (value, key) {
      if (lengthOf(value) !== MIB) return put.call(this, value, key)
      count++
      throw new DOMException('no space', 'QuotaExceededError')
    }
    try {
      expect(await errorOf(store.put(BYTES))).to.include({ code: 'STORE_FULL' })
    } finally {
      IDBObjectStore.prototype.put = put
    }
    expect(count).to.equal(1)
    await store.put(BYTES)
    await expectRight()
  })

  /** Values that no store writes in the place of the second extent, and what the bytes of a Blob may reject with. */
  const DAMAGE = {
    'an empty Blob': () => new Blob([]),
    'a Blob that is cut short': value => value.slice(0, 400 * KIB),
    'a Blob with other bytes': value => new Blob([value.slice(9), value.slice(0, 9)]),
    'a Blob that is too long': value => new Blob([value, value]),
    'a text': () => 'text',
    'a number': () => 7,
    null: () => null,
    'an object': () => ({ length: 5 }),
    'an ArrayBuffer': () => new ArrayBuffer(MIB)
  }
  for (const [what, change] of Object.entries(DAMAGE)) {
    it(`count as damaged when ${what} is in their place, and can be received again`, async function () {
      await store.put(BYTES)
      if (what.includes('Blob') && !await canStore(place, new Blob([BYTES]))) this.skip()
      await store.close()
      await changeSecond(place, change)
      store = await place.open()
      expect(await errorOf(store.bytes(ROOT))).to.include({ code: 'STORE_CORRUPT' })
      await store.fsck({ repair: true })
      await expectReceived()
    })
  }

  for (const error of [new DOMException('gone', 'NotFoundError'), new DOMException('gone', 'NotReadableError')]) {
    it(`count as damaged when the browser cannot read them: ${error.name}`, async function () {
      if (!await canStore(place, new Blob([BYTES]))) this.skip()
      await store.put(BYTES)
      const { arrayBuffer } = Blob.prototype
      Blob.prototype.arrayBuffer = () => Promise.reject(error)
      try {
        expect(await errorOf(store.bytes(ROOT))).to.include({ code: 'STORE_CORRUPT' })
        // The last extent is short, and so it is not a Blob.
        const last = { start: 3 * MIB + 5, end: BYTES.length }
        expect(same(await store.bytes(ROOT, last), BYTES.subarray(last.start))).to.equal(true)
      } finally {
        Blob.prototype.arrayBuffer = arrayBuffer
      }
      await expectReceived()
    })
  }

  /** Expects that some bytes of the first MiBs are missing, and receives them. */
  async function expectReceived () {
    const missing = await store.missing(ROOT)
    const [{ end }, ...others] = missing.toBytes(BYTES.length)
    expect(others).to.deep.equal([])
    expect(end).to.be.within(MIB, 3 * MIB)
    await store.receive(ROOT, sliceOf(BYTES, missing), missing)
    await expectRight()
  }

  it('are written to a store with shorter extents of bytes, which stay readable', async () => {
    await store.close()
    const bytes = noise(2 * MIB + 5, 74)
    // A store that gets its levels from a caller writes extents of 64 KiB, as bytes.
    const levels = { index: new Level(`${place.where}/index`), data: new Level(`${place.where}/data`) }
    const given = await BlobStore.open(levels)
    await given.put(bytes)
    await given.receive(ROOT, sliceOf(BYTES, PART), PART)
    await given.close()
    store = await place.open()
    expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    expect(same(await store.bytes(hash(bytes), PART), bytes.subarray(PART.start, PART.end))).to.equal(true)
    const missing = await store.missing(ROOT)
    await store.receive(ROOT, sliceOf(BYTES, missing), missing)
    await expectRight()
  })
})

/** @param {unknown} value  of IndexedDB @returns {number} bytes */
const lengthOf = value => value instanceof Blob ? value.size : value?.length ?? 0

/** Makes the browser refuse Blobs while a function runs. @returns {Promise<number>} how many writes were refused */
async function whileRefused (way, run) {
  const { put } = IDBObjectStore.prototype
  let count = 0
  IDBObjectStore.prototype.put = function (value, key) {
    if (!(value instanceof Blob)) return put.call(this, value, key)
    count++
    if (way === 'throws') throw new DOMException('refused', 'DataCloneError')
    put.call(this, 'taken', key)
    return this.add(1, key) // ConstraintError
  }
  try {
    await run()
    return count
  } finally {
    IDBObjectStore.prototype.put = put
  }
}

/** Runs a function with the data of a store, in a transaction. */
async function inData ({ where }, mode, run) {
  const opening = indexedDB.open(`level-js-${where}/data`)
  const database = await resultOf(opening)
  try {
    const transaction = database.transaction([`${where}/data`], mode)
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve
      transaction.onabort = () => reject(transaction.error ?? new Error('aborted'))
    })
    done.catch(() => {})
    const result = await run(transaction.objectStore(`${where}/data`))
    await done
    return result
  } finally {
    database.close()
  }
}

/** @returns {Promise<{ key: ArrayBuffer, value: unknown }[]>} */
const valuesIn = place => inData(place, 'readonly', async data => {
  const [keys, values] = await Promise.all([resultOf(data.getAllKeys()), resultOf(data.getAll())])
  return keys.map((key, i) => ({ key, value: values[i] }))
})

/** Replaces the value of the second extent of a MiB. */
async function changeSecond (place, change) {
  const { key, value } = (await valuesIn(place)).filter(({ value }) => lengthOf(value) === MIB)[1]
  const changed = change(value)
  await inData(place, 'readwrite', data => resultOf(data.put(changed, key)))
}

/** Returns true if the browser stores Blobs. */
const canStore = (place, blob) => inData(place, 'readwrite', data => Promise.all([
  resultOf(data.put(blob, new Uint8Array(1))), resultOf(data.delete(new Uint8Array(1)))
])).then(() => true, () => false)

const resultOf = request => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result)
  request.onerror = event => {
    event.preventDefault?.()
    reject(request.error)
  }
})
