// Blobs that come together, and the packs that they are written to: packs.test.js, packs-failing.test.js and packs-fsck.test.js look at them in the same way.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { hash } from '../../lib/index.js'
import { partsOf } from '../../store/blobs.js'
import { same } from '../support/bytes.js'
import { errorOf, listed } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { holesIn, onDisk } from '../support/stores.js'

export const GROUP = 16384
/** So many of 16 KiB are enough for a pack. */
export const ENOUGH = 8

/** Blobs of a chunk group or less, no two alike. @param {number} count @param {number} [seed]  others for another */
export const blobsOf = (count, seed = 1, size = GROUP) => Array.from({ length: count }, (_, i) => noise(size - i, 1000 * seed + i))

/** @param {import('../../store/index.js').BlobStore} store @param {Uint8Array[]} blobs */
export const putAll = (store, blobs) => listed(store.putMany(blobs))

/** @param {Uint8Array[]} blobs */
export async function deleteAll (store, blobs) {
  for (const bytes of blobs) expect(await store.delete(hash(bytes))).to.equal(true)
}

/** The record of a blob, as the store has it now. */
export const recordOf = (store, bytes) => partsOf(store).catalog.record(hash(bytes))

/** Where each blob is. @returns {Promise<(string | undefined)[]>} undefined for one that is not here */
export const homesOf = (store, blobs) => Promise.all(blobs.map(async bytes => (await recordOf(store, bytes))?.home))

/** The ids of the packs that are on the disk. */
export const packsOf = async ({ where }) => (await readdir(join(where, 'packs'))).map(Number).sort((a, b) => a - b)

export const pathOf = ({ where }, id) => join(where, 'packs', `${id}`)

/** Where there are holes now, pack by pack. */
export async function holesOfStore (store) {
  const holes = {}
  for (const { id } of await holesIn(partsOf(store).databases.index)) holes[id] = (holes[id] ?? 0) + 1
  return holes
}

/** Each can be read, by itself and with the others. */
export async function expectHere (store, blobs) {
  for (const [i, bytes] of blobs.entries()) if (!same(await store.bytes(hash(bytes)), bytes)) expect.fail(`blob ${i} is wrong`)
  const got = await listed(store.getMany(blobs.map(bytes => hash(bytes))))
  for (const [i, { bytes, error }] of got.entries()) if (error || !same(bytes, blobs[i])) expect.fail(`blob ${i} of many is wrong: ${error}`)
}

/** None of them is here. */
export async function expectGone (store, blobs) {
  for (const bytes of blobs) {
    expect(await store.has(hash(bytes))).to.equal(false)
    expect(await errorOf(store.bytes(hash(bytes)))).to.include({ code: 'STORE_NOT_FOUND' })
  }
}

export async function expectSound (store) {
  const { isSound, ...found } = await store.fsck()
  if (!isSound) expect.fail(`found ${JSON.stringify(found)}`)
}

/** A place on the disk for each test, removed after it. @returns {() => Promise<Awaited<ReturnType<typeof onDisk>>>} */
export function newPlaces () {
  const made = []
  afterEach(async () => { for (const place of made.splice(0)) await place.remove() })
  return async () => {
    const place = await onDisk()
    made.push(place)
    return place
  }
}
