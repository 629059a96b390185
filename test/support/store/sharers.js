// Blobs that begin with one another and share a file, and the expectations of tests.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { same } from '../bytes.js'
import { MIB } from '../constants.js'
import { errorOf } from '../feeding.js'
import { noise } from '../inputs.js'
import { countedBytes, databasesOf } from './inspect.js'

export { expectSound } from './mending.js'

export const QUOTA = 50 * MIB
export const ALL = noise(5 * MIB + 77, 521)
export const part = size => ALL.subarray(0, size)
export const rootOf = size => hash(part(size))

/** Puts a blob, and appends to it again and again. @param {number[]} sizes  of all blobs, in increasing order */
export async function grow (store, sizes) {
  await store.put(part(sizes[0]))
  for (const [i, size] of sizes.slice(1).entries()) await store.append(rootOf(sizes[i]), ALL.subarray(sizes[i], size))
}

/** Returns the lengths of all files of a store. */
export async function lensOfFiles (store) {
  const { files } = databasesOf(store)
  return (await Promise.all((await files.ids()).map(id => files.len(id)))).sort((a, b) => a - b)
}

export const expectRight = async (store, size) =>
  expect(same(await store.bytes(rootOf(size)), part(size)), `${size} bytes`).to.equal(true)

/**
 * Reads each blob, and expects its right bytes, or an error.
 *
 * @param {number[]} sizes @param {Record<number, string>} [unread]  codes of the expected errors, by size
 */
export async function expectReads (store, sizes, unread = {}) {
  for (const size of sizes) {
    if (unread[size] === undefined) await expectRight(store, size)
    else expect(await errorOf(store.bytes(rootOf(size))), `${size} bytes`).to.include({ code: unread[size] })
  }
}

/** Expects that `info` and the quota count the same. @param {object} store  with QUOTA @returns {Promise<number>} */
export async function expectCounted (store) {
  const { bytes } = await store.info()
  expect(countedBytes(store, QUOTA), 'counted').to.equal(bytes)
  return bytes
}
