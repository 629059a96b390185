// Measures what it costs to append to a blob, beside putting it again.
//
// The first append to a blob makes both blobs share its file; later ones find it shared. `put` has the longer blob in
// memory, and `compose` copies the old bytes if the disk cannot share blocks. TMPDIR says on which disk the store is.
// The last two questions are about a log whose states are all kept: their space on the disk, and the time that fsck
// takes for them.

import { BlobStore } from '../store/index.js'
import { GiB, MiB, randomBytes, sized } from './support/inputs.js'
import { flags, report } from './support/run.js'
import { inFolder } from './support/stores.js'

/** @import { Result } from './support/tables.js' */

const SIZES = flags.quick ? [2 * MiB, 8 * MiB] : [2 * MiB, 16 * MiB, 256 * MiB, GiB]
const LONGEST = SIZES[SIZES.length - 1]
const ROUNDS = flags.quick ? 1 : Number(flags.repeat ?? 5)
const LINES = 100
const LINE_LEN = 1000

/** The blobs consist of these pieces, repeated: a store does not depend on the contents. */
const PIECES = Array.from({ length: 16 }, () => randomBytes(MiB))
/** A blob in pieces. All blobs have the same beginning. @param {number} size */
const piecesOf = size => Array.from({ length: size / MiB }, (_, i) => PIECES[i % PIECES.length])

/** @param {Record<string, number[]>} samples @param {string} name @param {() => Promise<any>} call */
async function timed (samples, name, call) {
  const begun = performance.now()
  const result = await call()
  samples[name] = [...samples[name] ?? [], (performance.now() - begun) * 1e6]
  return result
}

/** @param {number} size  bytes of the blob that grows @returns {Promise<Result>} */
async function growing (size) {
  const samples = /** @type {Record<string, number[]>} */ ({})
  await inFolder(async folder => {
    const store = await BlobStore.open(folder)
    for (let round = 0; round < ROUNDS; round++) {
      const { cid } = await store.put(piecesOf(size))
      const first = await timed(samples, 'append, first', () => store.append(cid, randomBytes(MiB)))
      const later = await timed(samples, 'append, later', () => store.append(first.cid, randomBytes(MiB)))
      const spliced = await timed(samples, 'compose', () => store.compose([{ cid }, { source: randomBytes(MiB) }]))
      const put = await timed(samples, 'put', () => store.put([...piecesOf(size), randomBytes(MiB)]))
      for (const made of [later, first, spliced, put]) await store.delete(made.cid)
      await store.delete(cid)
    }
    await store.close()
  })
  return { name: `1 MiB behind ${sized(size)}`, bytes: size + MiB, unit: 'time', samples }
}

/** A log that grows line by line: all of its states are kept. @returns {Promise<{ disk: Result, check: Result }>} */
async function logging () {
  const written = /** @type {number[]} */ ([])
  const compacted = /** @type {number[]} */ ([])
  const checks = /** @type {Record<string, number[]>} */ ({})
  await inFolder(async folder => {
    const store = await BlobStore.open(folder)
    for (let round = 0; round < ROUNDS; round++) {
      let { cid } = await store.put(piecesOf(LONGEST))
      await timed(checks, 'fsck of one blob', () => store.fsck())
      await store.compact()
      const before = await lenOnDisk(store)
      const cids = [cid]
      for (let line = 0; line < LINES; line++) {
        cid = (await store.append(cid, randomBytes(LINE_LEN))).cid
        cids.push(cid)
      }
      written.push(await lenOnDisk(store) - before)
      await store.compact()
      compacted.push(await lenOnDisk(store) - before)
      await timed(checks, 'fsck of all', () => store.fsck())
      for (const state of cids) await store.delete(state)
    }
    await store.close()
  })
  const name = `${LINES} appends of ${LINE_LEN} B to ${sized(LONGEST)}`
  return {
    disk: { name, bytes: LINES * LINE_LEN, unit: 'memory', samples: { written, 'after compact()': compacted } },
    check: { name, bytes: LONGEST, unit: 'time', samples: checks }
  }
}

/** Bytes of all files of a store. @param {BlobStore} store */
const lenOnDisk = async store => /** @type {number} */ ((await store.info()).bytesOnDisk)

const results = []
for (const size of SIZES) results.push(await growing(size))
report('store-append', 'made longer', results)
const { disk, check } = await logging()
report('store-append', 'bytes for all states of a log', [disk])
report('store-append', 'fsck of all states of a log', [check])
