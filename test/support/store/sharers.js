// Blobs that begin with one another and share a file, and what tests expect of them.
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

/** Keeps a blob, and others that begin with it, each appended to the one before it. @param {number[]} sizes */
export async function grow (store, sizes) {
  await store.put(part(sizes[0]))
  for (const [i, size] of sizes.slice(1).entries()) await store.append(rootOf(sizes[i]), ALL.subarray(sizes[i], size))
}

/** Lengths of all files of a store. */
export async function lensOfFiles (store) {
  const { files } = databasesOf(store)
  return (await Promise.all((await files.ids()).map(id => files.len(id)))).sort((a, b) => a - b)
}

export const expectRight = async (store, size) =>
  expect(same(await store.bytes(rootOf(size)), part(size)), `${size} bytes`).to.equal(true)

/**
 * Each blob is read and right, or fails as expected.
 *
 * @param {number[]} sizes @param {Record<number, string>} [unread]  codes of errors, by size
 */
export async function expectReads (store, sizes, unread = {}) {
  for (const size of sizes) {
    if (unread[size] === undefined) await expectRight(store, size)
    else expect(await errorOf(store.bytes(rootOf(size))), `${size} bytes`).to.include({ code: unread[size] })
  }
}

/** What the store counts and what it tells is the same. @param {object} store  with QUOTA @returns {Promise<number>} */
export async function expectCounted (store) {
  const { bytes } = await store.info()
  expect(countedBytes(store, QUOTA), 'counted').to.equal(bytes)
  return bytes
}
