// baobox demo: one file's way through the library, with what each step gives and how long it takes.

import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BaoError, CHUNK_LEN, ChunkRanges, DEFAULT_GROUP_LOG, ENTER, LEAF, PAIR_LEN, hashStream, toCid, walk } from '../../lib/index.js'
import { createOutboard } from '../../encoder/index.js'
import { verifyStream } from '../../verifier/index.js'
import { command, storeOption } from '../arguments.js'
import { Failure } from '../terminal/errors.js'
import { counted, exact, hex, lasting, rate, sized } from '../terminal/format.js'
import { openInput, sizeOf } from '../terminal/input.js'
import { print } from '../terminal/output.js'
import { withProgress } from '../terminal/progress.js'
import { withStore } from './with-store.js'

/** @import { BlobStore } from '../../store/index.js' */
/** @typedef {{ file: string, size: number, signal: AbortSignal }} Subject */
/** @typedef {{ start: number, end: number }} Span  bytes, half-open */

const HEADER_LEN = 8
const GROUP_LEN = CHUNK_LEN * 2 ** DEFAULT_GROUP_LOG
/** Bytes of the file that the slice is to prove, and bytes that arrive at a time: as many as a packet takes. */
const SLICE_LEN = 1 << 20
const PACKET_LEN = 1400
const LABEL_WIDTH = 10

export const demo = command({
  summary: 'show on one file what baobox does',
  usage: ['[FILE] [--store DIR]'],
  operands: { what: 'FILE', min: 0, max: 1 },
  options: { store: { ...storeOption, help: 'a store to put the file in and keep; a temporary one unless told' } },
  notes: ['No FILE means the program that runs this, node itself: always there, and large enough to measure something.\nThe file is read once before anything is measured, so that it is in memory.\nEach figure is of one run, and has the reading from there in it.'],
  examples: ['baobox demo', 'baobox demo video.mp4'],

  async run ({ values: { store: dir }, operands: [file = process.execPath] }, { signal }) {
    const size = await sizeOf(file)
    if (size === undefined) throw new Failure(`${file} is empty or no plain file: there is nothing to show`)
    const subject = { file, size, signal }
    await print(`${file}, ${sized(size)}\n\n`)
    await showRead(subject)
    const root = await showHash(subject)
    await showOutboard(subject)
    await withSomeStore(dir, async (store, where) => {
      await showPut(subject, store, where)
      const slice = await showSlice(subject, root, store)
      await showVerify(slice)
      await showFault(slice)
      await showGet(subject, root, store)
    })
    await say('done', dir === undefined ? 'the temporary store is gone; baobox --help says what else there is' : `the store is kept: baobox ls --long --store ${dir}`)
  }
})

/** Comes first: a disk that has to look for the file would be in the figure of whatever comes first. @param {Subject} subject */
async function showRead (subject) {
  const { speed } = await timed('read', subject, async (pieces, onProgress) => {
    let done = 0
    for await (const piece of pieces) onProgress({ detail: { done: done += piece.length } })
  })
  await say('read', `once before anything is measured, ${speed}: what follows finds it in memory`)
}

/** @param {Subject} subject */
async function showHash (subject) {
  const { result: root, speed } = await timed('hash', subject, (pieces, onProgress) => hashStream(pieces, { onProgress }))
  await say('hash', hex(root), `BLAKE3 of the file, ${speed}`)
  await say('CID', `${toCid(root)}`, 'the hash as a name: whoever hands you these bytes, you can check them')
  return root
}

/** @param {Subject} subject */
async function showOutboard (subject) {
  const { result: { bytes }, speed } = await timed('outboard', subject, (pieces, onProgress) => createOutboard(pieces, { onProgress }))
  const share = (bytes.length / subject.size * 100).toFixed(2)
  await say('outboard', `${sized(bytes.length)} of hash tree, ${share} % of the file: proves any ${GROUP_LEN / 1024} KiB of it`, speed)
}

/** @param {Subject} subject @param {BlobStore} store @param {string} where */
async function showPut (subject, store, where) {
  const { result: { isNew }, speed } = await timed('store', subject, (pieces, onProgress) => store.put(pieces, { signal: subject.signal, onProgress }))
  await say('store', `${isNew ? 'put' : 'was already'} in ${where}`, `written as it is hashed, synced at the end, ${speed}`)
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
  await say('slice', `bytes ${exact(span.start)} to ${exact(span.end)} of the file: ${sized(len)} and ${sized(bytes.length - len)} of proof`, `cut out of the store in ${lasting(ms)}`)
  return { bytes, span, root, size }
}

/** @typedef {Awaited<ReturnType<typeof showSlice>>} Slice */

/** @param {Slice} slice */
async function showVerify ({ bytes, span, root }) {
  const { leaves, len, firstAt, error, ms } = await received(bytes, span, root)
  if (error) throw error
  await say('verify', `${counted(leaves, 'leaf', 'leaves')}, ${exact(len)} bytes proven by the CID alone, in ${lasting(ms)}`,
    `in packets of ${exact(PACKET_LEN)} bytes: the first leaf was out when ${exact(firstAt)} bytes had come`)
}

/** @param {Slice} slice */
async function showFault ({ bytes, span, root, size }) {
  const at = middleOfLeaf(span, size)
  const bad = bytes.slice()
  bad[at] ^= 1
  const { leaves, len, error } = await received(bad, span, root)
  if (error === undefined) throw new Failure('a slice with a wrong bit was believed: this must never happen')
  await say('tamper', `one bit of byte ${exact(at)} of the slice flipped: ${counted(leaves, 'leaf', 'leaves')} (${exact(len)} bytes) came out, then`, `${error.code}: ${error.message}`)
}

/** @param {Subject} subject @param {Uint8Array} root @param {BlobStore} store */
async function showGet ({ file, size, signal }, root, store) {
  const [start, end] = [Math.floor(size / 4), Math.ceil(size * 3 / 4)]
  const began = performance.now()
  const got = await hashStream(store.get(root, { start, end, signal }))
  const ms = performance.now() - began
  const expected = await hashStream(createReadStream(file, { start, end: end - 1, signal }))
  if (hex(got) !== hex(expected)) throw new Failure(`what came back is not what ${file} holds: has it changed?`)
  await say('get', `bytes ${exact(start)} to ${exact(end)}: the same as in the file`, `read from the store, verified, and hashed to compare, ${lasting(ms)}, ${rate(end - start, ms)}`)
}

/**
 * Lets a slice arrive packet by packet.
 *
 * @param {Uint8Array} slice @param {Span} ranges @param {Uint8Array} root
 */
async function received (slice, ranges, root) {
  let [leaves, len, came, firstAt] = [0, 0, 0, 0]
  async function * packets () {
    for (; came < slice.length;) yield slice.subarray(came, came = Math.min(came + PACKET_LEN, slice.length))
  }
  const began = performance.now()
  /** @type {BaoError | undefined} */
  let error
  try {
    for await (const leaf of verifyStream(packets(), { root, ranges, release: 'leaf' })) {
      if (leaves++ === 0) firstAt = came
      len += leaf.bytes.length
    }
  } catch (fault) {
    if (!(fault instanceof BaoError)) throw fault
    error = fault
  }
  return { leaves, len, firstAt, error, ms: performance.now() - began }
}

/** Whole groups around the middle of the file, half of it at most. @param {number} size @returns {Span} */
function middleOf (size) {
  const len = Math.min(SLICE_LEN, size / 2)
  const start = Math.floor((size - len) / 2 / GROUP_LEN) * GROUP_LEN
  return { start, end: Math.min(Math.ceil((start + len) / GROUP_LEN) * GROUP_LEN, size) }
}

/** Where in a slice the bytes of its middle leaf are. The walk tells: it is the order in which pairs and leaves stand there. @param {Span} span @param {number} size */
function middleOfLeaf ({ start, end }, size) {
  let at = HEADER_LEN
  for (const step of walk(size, DEFAULT_GROUP_LOG, ChunkRanges.fromBytes(start, end))) {
    if (step.kind === ENTER) at += PAIR_LEN
    if (step.kind !== LEAF) continue
    if (step.start + step.len > (start + end) / 2) return at + Math.floor(step.len / 2)
    at += step.len
  }
  throw new Error('a slice has a leaf')
}

/**
 * A step that goes through the whole file.
 *
 * @template T
 * @param {string} label @param {Subject} subject
 * @param {(pieces: AsyncIterable<Uint8Array>, onProgress: (event: { detail: { done: number } }) => void) => Promise<T>} step
 */
async function timed (label, { file, size, signal }, step) {
  const began = performance.now()
  const { pieces } = await openInput(file, signal)
  const result = await withProgress({ label, total: size }, tick => step(pieces, ({ detail }) => tick(detail.done)))
  const ms = performance.now() - began
  return { result, speed: `${lasting(ms)}, ${rate(size, ms)}` }
}

/** @param {string | undefined} dir @param {(store: BlobStore, where: string) => Promise<void>} use */
async function withSomeStore (dir, use) {
  const where = dir ?? await mkdtemp(join(tmpdir(), 'baobox-demo-'))
  try {
    await withStore(where, store => use(store, where), { create: true })
  } finally {
    if (dir === undefined) await rm(where, { recursive: true, force: true })
  }
}

/** @param {string} label @param {...string} lines */
const say = (label, ...lines) => print(lines.map((line, i) => `${(i === 0 ? label : '').padEnd(LABEL_WIDTH)}${line}\n`).join(''))
