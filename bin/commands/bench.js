// baobox bench: a short measurement of this machine. The folder bench of the repository has comparisons with other
// programs.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hash, hashStream, kernelName } from '../../lib/index.js'
import { createOutboardSync, encodeSliceSync } from '../../encoder/index.js'
import { verifySlice } from '../../verifier/index.js'
import { replaceFile } from '#files'
import { formatSize } from '../terminal/format.js'
import { print, printResult } from '../terminal/output.js'
import { withStore } from './store/open.js'

/** @import { Run } from '../types.js' */

const MEMORY_LEN = 16 << 20
const FILE_LEN = 256 << 20
const SMALL_LEN = 4096
const SMALL_COUNT = 2000
/** Milliseconds for each measurement in memory. */
const MEASURING_TIME = 1500
const LABEL_WIDTH = 48

/** @type {Run<typeof import('../table/program.js').bench>} */
export async function bench ({ values }, context) {
  const { signal } = context
  const bytes = randomBytes(MEMORY_LEN)
  const outboard = createOutboardSync(bytes)
  const slice = encodeSliceSync(bytes, outboard)
  /** @param {string} name @param {number} len @param {number} ms */
  const tell = (name, len, ms) => {
    const speed = Math.round(len / 1000 / ms)
    return printResult(values, { name, megabytesPerSecond: speed }, `${name.padEnd(LABEL_WIDTH)}${speed} MB/s`)
  }
  /** Repeats work in memory, and prints the best speed. @param {string} name @param {() => void} work */
  const repeat = async (name, work) => {
    let best = Infinity
    for (const began = performance.now(); performance.now() - began < MEASURING_TIME;) {
      signal.throwIfAborted()
      const from = performance.now()
      work()
      best = Math.min(best, performance.now() - from)
    }
    await tell(name, MEMORY_LEN, best)
  }
  /** @template T @param {string} name @param {number} len @param {() => Promise<T>} work @returns {Promise<T>} */
  const once = async (name, len, work) => {
    const from = performance.now()
    const result = await work()
    await tell(name, len, performance.now() - from)
    return result
  }

  if (!values.json) await print(`kernel: ${kernelName()}\n`)
  await repeat(`hash ${formatSize(MEMORY_LEN)} in memory`, () => hash(bytes))
  await repeat('make its outboard, group log 4', () => createOutboardSync(bytes))
  await repeat('make its outboard, group log 0', () => createOutboardSync(bytes, { groupLog: 0 }))
  await repeat('verify it, group log 4', () => verifySlice(slice, { cid: outboard.root }))

  const folder = await mkdtemp(join(values.store ?? tmpdir(), 'baobox-bench-'))
  try {
    const file = join(folder, 'file')
    await replaceFile(file, repeated(bytes, FILE_LEN))
    await once(`hash a file of ${formatSize(FILE_LEN)}`, FILE_LEN, () => hashStream(file, { signal }))
    await withStore({ store: join(folder, 'store') }, context, async store => {
      const { cid } = await once('put it into a store', FILE_LEN, () => store.put(file, { signal }))
      await once('get it', FILE_LEN, () => readAll(store.get(cid, undefined, { reuse: true, signal })))
      const small = Array.from({ length: SMALL_COUNT }, (_, i) => bytes.slice(i * SMALL_LEN, (i + 1) * SMALL_LEN))
      /** @type {string[]} */
      const cids = []
      await once(`put ${SMALL_COUNT} blobs of ${formatSize(SMALL_LEN)}`, SMALL_COUNT * SMALL_LEN, async () => {
        for await (const { cid } of store.putMany(small, { signal })) cids.push(`${cid}`)
      })
      await once('get them', SMALL_COUNT * SMALL_LEN, () => readAll(store.getMany(cids, { signal })))
    }, { create: true })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** @param {number} len */
function randomBytes (len) {
  const bytes = new Uint8Array(len)
  for (let at = 0; at < len; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536))
  return bytes
}

/** @param {Uint8Array} bytes @param {number} len */
async function * repeated (bytes, len) {
  for (let at = 0; at < len; at += bytes.length) yield bytes
}

/** @param {AsyncIterable<unknown>} pieces */
async function readAll (pieces) {
  // eslint-disable-next-line no-unused-vars
  for await (const piece of pieces);
}
