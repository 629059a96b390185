// baobox demo: takes one file through the steps of the library, and shows the result and the time of each step.

import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  BaoError, CHUNK_LEN, ChunkRanges, DEFAULT_GROUP_LOG, ENTER, LEAF, PAIR_LEN, hashStream, toCid, walk
} from '../../lib/index.js'
import { createOutboard } from '../../encoder/index.js'
import { verifyStream } from '../../verifier/index.js'
import { Failure } from '../terminal/errors.js'
import { formatCount, formatDuration, formatExact, formatRate, formatSize, hex } from '../terminal/format.js'
import { openInput, sizeOf } from '../terminal/input.js'
import { print } from '../terminal/output.js'
import { withProgress } from '../terminal/progress.js'
import { withStore } from './store/open.js'
import { showPage } from './demo-page.js'

/** @import { BlobStore } from '../../store/index.js' */
/** @import { ByteRange } from '../../lib/index.js' */
/** @import { Context, Run } from '../types.js' */
/** @import { ProgressListener } from '../terminal/progress.js' */
/** @typedef {{ file: string, size: number, signal: AbortSignal }} Subject */

const HEADER_LEN = 8
const GROUP_LEN = CHUNK_LEN * 2 ** DEFAULT_GROUP_LOG
/** The bytes of the file that the slice proves, and the bytes that arrive together, about a network packet. */
const SLICE_LEN = 1 << 20
const PACKET_LEN = 1400
const LABEL_WIDTH = 10

/** @type {Run<typeof import('../table/program.js').demo>} */
export async function demo (given, context) {
  if (given.values.web) return showPage(given, context)
  const { values: { store: dir }, operands: [file = process.execPath] } = given
  const size = await sizeOf(file)
  if (size === undefined) throw new Failure(`${file} is empty or not a regular file: choose another`)
  const subject = { file, size, signal: context.signal }
  await print(`${file}, ${formatSize(size)}\n\n`)
  await showRead(subject)
  const root = await showHash(subject)
  await showOutboard(subject)
  await withSomeStore(dir, context, async (store, where) => {
    await showPut(subject, store, where)
    const slice = await showSlice(subject, root, store)
    await showVerify(slice)
    await showFault(slice)
    await showGet(subject, root, store)
  })
  await say('done', dir === undefined
    ? 'the temporary store is deleted; baobox --help lists all commands'
    : `the store is kept: baobox ls --long --store ${dir}`)
}

/** Reads the file once, so that no later figure includes a slow disk. @param {Subject} subject */
async function showRead (subject) {
  const { speed } = await timed('read', subject, async (pieces, onProgress) => {
    let done = 0
    for await (const piece of pieces) onProgress({ detail: { done: done += piece.length } })
  })
  await say('read', `once before anything is measured, so that it is in memory, ${speed}`)
}

/** @param {Subject} subject */
async function showHash (subject) {
  const { result: root, speed } = await timed('hash', subject, (pieces, onProgress) =>
    hashStream(pieces, { onProgress }))
  await say('hash', hex(root), `BLAKE3 of the file, ${speed}`)
  await say('CID', `${toCid(root)}`, 'the same hash as a name: with it you can check the bytes, whoever sends them')
  return root
}

/** @param {Subject} subject */
async function showOutboard (subject) {
  const { result: { bytes }, speed } = await timed('outboard', subject, (pieces, onProgress) =>
    createOutboard(pieces, { onProgress }))
  const share = (bytes.length / subject.size * 100).toFixed(2)
  await say('outboard',
    `${formatSize(bytes.length)} of hash tree, ${share} % of the file: proves any ${GROUP_LEN / 1024} KiB of it`, speed)
}

/** @param {Subject} subject @param {BlobStore} store @param {string} where */
async function showPut (subject, store, where) {
  const { signal } = subject
  const { result: { isNew }, speed } = await timed('store', subject, (pieces, onProgress) =>
    store.put(pieces, { signal, onProgress }))
  await say('store',
    `${isNew ? 'put into' : 'was already in'} ${where}`,
    `written while it is hashed, then synced, ${speed}`)
}

/** @param {Subject} subject @param {Uint8Array} root @param {BlobStore} store */
async function showSlice ({ size, signal }, root, store) {
  const span = middleOf(size)
  const began = performance.now()
  const pieces = []
  for await (const piece of store.slice(root, span, { signal })) pieces.push(piece)
  const bytes = new Uint8Array(Buffer.concat(pieces))
  const ms = performance.now() - began
  const len = span.end - span.start
  await say('slice',
    `bytes ${formatExact(span.start)} to ${formatExact(span.end)} of the file: ` +
      `${formatSize(len)}, and ${formatSize(bytes.length - len)} of proof`,
    `read from the store in ${formatDuration(ms)}`)
  return { bytes, span, root, size }
}

/** @typedef {Awaited<ReturnType<typeof showSlice>>} Slice */

/** @param {Slice} slice */
async function showVerify ({ bytes, span, root }) {
  const { leaves, len, firstAt, error, ms } = await receiveSlice(bytes, span, root)
  if (error) throw error
  await say('verify',
    `${formatCount(leaves, 'leaf', 'leaves')}, ${formatExact(len)} bytes proven by the CID alone, ` +
      `in ${formatDuration(ms)}`,
    `it arrived in packets of ${formatExact(PACKET_LEN)} bytes: ` +
      `the first leaf was proven after ${formatExact(firstAt)} bytes`)
}

/** @param {Slice} slice */
async function showFault ({ bytes, span, root, size }) {
  const at = middleOfLeaf(span, size)
  const bad = bytes.slice()
  bad[at] ^= 1
  const { leaves, len, error } = await receiveSlice(bad, span, root)
  if (error === undefined) throw new Failure('a slice with a wrong bit was accepted: this is a bug in baobox')
  await say('tamper',
    `one bit of byte ${formatExact(at)} flipped: ` +
      `${formatCount(leaves, 'leaf', 'leaves')} (${formatExact(len)} bytes) proven, then`,
    `${error.code}: ${error.message}`)
}

/** @param {Subject} subject @param {Uint8Array} root @param {BlobStore} store */
async function showGet ({ file, size, signal }, root, store) {
  const [start, end] = [Math.floor(size / 4), Math.ceil(size * 3 / 4)]
  const began = performance.now()
  const got = await hashStream(store.get(root, { start, end }, { signal }))
  const ms = performance.now() - began
  const expected = await hashStream(createReadStream(file, { start, end: end - 1, signal }))
  if (hex(got) !== hex(expected)) {
    throw new Failure(`the bytes from the store differ from those of ${file}: did the file change?`)
  }
  await say('get', `bytes ${formatExact(start)} to ${formatExact(end)}: the same as in the file`,
    `read from the store, verified, and hashed to compare, ${formatDuration(ms)}, ${formatRate(end - start, ms)}`)
}

/**
 * Verifies a slice that arrives packet by packet.
 *
 * @param {Uint8Array} slice
 * @param {ByteRange} ranges
 * @param {Uint8Array} root
 * @returns {Promise<{ leaves: number, len: number, firstAt: number, error?: BaoError, ms: number }>}
 *   `len`: bytes of the leaves; `firstAt`: bytes of the slice that had arrived when the first leaf was proven
 */
async function receiveSlice (slice, ranges, root) {
  let [leaves, len, arrived, firstAt] = [0, 0, 0, 0]
  async function * packets () {
    while (arrived < slice.length) yield slice.subarray(arrived, arrived = Math.min(arrived + PACKET_LEN, slice.length))
  }
  const began = performance.now()
  /** @type {BaoError | undefined} */
  let error
  try {
    for await (const leaf of verifyStream(packets(), { cid: root, ranges, release: 'leaf' })) {
      if (leaves++ === 0) firstAt = arrived
      len += leaf.bytes.length
    }
  } catch (fault) {
    if (!(fault instanceof BaoError)) throw fault
    error = fault
  }
  return { leaves, len, firstAt, error, ms: performance.now() - began }
}

/** Whole groups in the middle of the file: 1 MiB, or half of a small file. @param {number} size @returns {ByteRange} */
function middleOf (size) {
  const len = Math.min(SLICE_LEN, size / 2)
  const start = Math.floor((size - len) / 2 / GROUP_LEN) * GROUP_LEN
  return { start, end: Math.min(Math.ceil((start + len) / GROUP_LEN) * GROUP_LEN, size) }
}

/**
 * The offset in a slice of the middle of its middle leaf. The walk gives pairs and leaves in the order of the slice.
 *
 * @param {ByteRange} span @param {number} size
 */
function middleOfLeaf ({ start, end }, size) {
  let at = HEADER_LEN
  for (const step of walk(size, DEFAULT_GROUP_LOG, ChunkRanges.fromBytes(start, end))) {
    if (step.kind === ENTER) at += PAIR_LEN
    if (step.kind !== LEAF) continue
    if (step.start + step.len > (start + end) / 2) return at + Math.floor(step.len / 2)
    at += step.len
  }
  throw new Error('the slice has no leaf')
}

/**
 * Passes the whole file to a step, and measures the time.
 *
 * @template T
 * @param {string} label @param {Subject} subject
 * @param {(pieces: AsyncIterable<Uint8Array>, onProgress: ProgressListener) => Promise<T>} step
 */
async function timed (label, { file, size, signal }, step) {
  const began = performance.now()
  const { pieces } = await openInput(file, signal)
  const result = await withProgress({ name: label, size }, onProgress => step(pieces, onProgress))
  const ms = performance.now() - began
  return { result, speed: `${formatDuration(ms)}, ${formatRate(size, ms)}` }
}

/**
 * @param {string | undefined} dir @param {Context} context
 * @param {(store: BlobStore, where: string) => Promise<void>} use
 */
async function withSomeStore (dir, context, use) {
  const where = dir ?? await mkdtemp(join(tmpdir(), 'baobox-demo-'))
  try {
    await withStore({ store: where }, context, store => use(store, where), { create: true })
  } finally {
    if (dir === undefined) await rm(where, { recursive: true, force: true })
  }
}

/** @param {string} label @param {...string} lines */
const say = (label, ...lines) =>
  print(lines.map((line, i) => `${(i === 0 ? label : '').padEnd(LABEL_WIDTH)}${line}\n`).join(''))
