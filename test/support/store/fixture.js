// Writes a store in the layout of this release, as a fixture:
//
//     node test/support/store/fixture.js test/support/store/fixtures/layout-N
//
// Later releases must open it (test/store/storage/opening/layout.test.js). Run it before a release whose layout is
// new. It never overwrites a fixture.
import { mkdir, rm } from 'node:fs/promises'
import { argv } from 'node:process'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { Level } from 'level'
import { GROUP, VIEWS } from '../constants.js'
import { RAW, hash } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { concat, same } from '../bytes.js'
import { input } from '../inputs.js'
import { sliceOf } from './stores.js'

const blobOf = (len, gen = 'b3') => {
  const bytes = input({ gen, len })
  return { bytes, root: hash(bytes) }
}

/** Whole blobs: of one group, and of two. */
export const [SMALL, LARGE] = [blobOf(1000), blobOf(GROUP + 1)]
/** Two blobs of which only the first group is present; one of them is long enough for a file. */
export const [PART, LONG] = [blobOf(3 * GROUP), blobOf(70 * GROUP)]
/** A deleted blob whose data is still there. */
export const DELETED = blobOf(500, 'bao')
/** Nine blobs that were put together; the last one was deleted. */
export const TOGETHER = Array.from({ length: 9 }, (_, i) => blobOf(GROUP - 1 - i))
/** A blob that was put under an alias. */
export const BLOCK = blobOf(200, 'bao')
const hashes = concat([SMALL.root, LARGE.root])
export const SEQUENCE = { bytes: hashes, root: hash(hashes) }
/** The `meta` of one of the tags. */
export const UNTIL = { meta: { note: 'kept', hash: SMALL.root }, expires: new Date(8.64e15) }
export const FIRST_GROUP = { start: 0, end: GROUP }

export const blockCid = async () => CID.createV1(RAW, await sha256.digest(BLOCK.bytes))

/** @param {string} location */
async function write (location) {
  await mkdir(location)
  const store = await BlobStore.open(location)
  for (const { bytes } of [SMALL, LARGE]) await store.put(bytes)
  for (const { bytes, root } of [PART, LONG]) await store.receive(root, sliceOf(bytes, FIRST_GROUP), FIRST_GROUP)
  await store.put(SEQUENCE.bytes, { tag: 'sequence', format: 'hashseq' })
  await store.tags.set('päärt', PART.root)
  await store.tags.set('long', LONG.root)
  await store.tags.set('until', SMALL.root, UNTIL)
  await store.tags.set('expired', SMALL.root, { expires: new Date(1) })
  await asBlockstore(store).put(await blockCid(), BLOCK.bytes)
  for await (const { cid } of store.putMany(TOGETHER.map(({ bytes }) => bytes))) {
    if (same(cid.multihash.digest, TOGETHER.at(-1).root)) await store.delete(cid)
  }
  await store.close()
  await leaveNote(location)
  for (const name of ['index', 'data']) {
    for (const file of ['LOCK', 'LOG', 'LOG.old']) await rm(`${location}/${name}/${file}`, { force: true })
  }
}

/** Deletes a blob, and ends before its data is deleted. */
async function leaveNote (location) {
  const pair = {
    index: new Level(`${location}/index`, VIEWS),
    data: new Level(`${location}/data`, { ...VIEWS, compression: false })
  }
  const store = await BlobStore.open(pair)
  const { cid } = await store.put(DELETED.bytes)
  pair.data.batch = async () => { throw new Error('the process ends') }
  await store.delete(cid)
  await store.close().catch(() => {}) // It rejects because of the failed write.
}

const [, script, location] = argv
if (script === new URL(import.meta.url).pathname) await write(location)
