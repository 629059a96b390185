// baobox slice and verify

import { readFile } from 'node:fs/promises'
import { DEFAULT_GROUP_LOG, HASH_LEN, PAIR_LEN, hashStream, outboardLen, rootHash } from '../lib/index.js'
import { Outboard, createOutboard, encodeSlice } from '../encoder/index.js'
import { verifyStream } from '../verifier/index.js'
import { command, groupLogOption, outputOption, rangeOf, rangeOptions, rootOf, storeOption, text } from './arguments.js'
import { Failure, UsageError } from './errors.js'
import { openInput, sizeOf } from './input.js'
import { deliver } from './output.js'
import { withProgress } from './progress.js'
import { withStore } from './with-store.js'

/** @import { Leaf } from '../verifier/leaves.js' */

/** @typedef {{ start: number, end: number }} Span  bytes, half-open */

export const slice = command({
  summary: 'cut out the part of a blob that proves a range of it',
  usage: ['[--store DIR] CID --start N --end N [-o FILE]', 'FILE [--outboard FILE] [--group-log LOG] --start N --end N [-o FILE]'],
  operands: { what: 'CID or FILE', min: 1, max: 1 },
  options: {
    store: storeOption,
    outboard: text('FILE', "the file's outboard, so that it need not be hashed; with or without its length in front"),
    ...rangeOptions,
    'group-log': groupLogOption,
    output: outputOption
  },
  notes: [
    'What reads as a CID is looked for in the store; ./NAME is always a file. A slice begins with the length of the\nblob, and is checked against the hash before it leaves. Stores cut slices at group log 4.'
  ],
  examples: ['baobox slice video.mp4 --start 10MiB --end 11MiB -o part.slice', 'baobox slice bafkr4i... --end 64KiB | ssh host baobox verify bafkr4i... --end 64KiB'],

  async run ({ values, operands: [name] }, { signal }) {
    const { store: dir, outboard, output, 'group-log': groupLog } = values
    const span = rangeOf(values)
    if (output === undefined && process.stdout.isTTY) throw new UsageError('a slice is nothing to read on a terminal: name a file with -o')
    if (dir === undefined && !isRoot(name)) {
      const tree = await (outboard === undefined ? grown(name, { groupLog, signal }) : stored(outboard, name, groupLog))
      await deliver(encodeSlice(name, tree, span, { signal }), output, { label: `slice of ${name}` })
    } else {
      if (outboard !== undefined) throw new UsageError('--outboard goes with a FILE: the store has its own')
      if (groupLog !== undefined && groupLog !== DEFAULT_GROUP_LOG) throw new UsageError(`--group-log: the store cuts slices at ${DEFAULT_GROUP_LOG}`)
      const root = rootOf(name)
      await withStore(dir, store => deliver(store.slice(root, span, { signal }), output, { label: `slice of ${name}` }))
    }
  }
})

export const verify = command({
  summary: 'verify a slice as it streams, and give the bytes it proves',
  usage: ['ROOT [SLICE] --start N --end N [--group-log LOG] [-o FILE]'],
  operands: { what: 'ROOT', min: 1, max: 2 },
  options: { ...rangeOptions, 'group-log': groupLogOption, output: outputOption },
  notes: [
    'ROOT is a CID or 64 hexadecimal digits. No SLICE, or -, means stdin. The range and the group log must be those that\nthe slice was cut with. On stdout comes what was verified before a fault, if there is one; FILE is replaced only\nonce everything is verified.'
  ],
  examples: ['baobox verify bafkr4i... part.slice --start 10MiB --end 11MiB -o part.bin'],

  async run ({ values, operands: [name, from = '-'] }, { signal }) {
    const root = rootOf(name)
    const span = rangeOf(values)
    const { pieces } = await openInput(from, signal)
    const leaves = verifyStream(pieces, { root, ranges: span, groupLog: values['group-log'], signal })
    await deliver(within(leaves, span), values.output, { label: `verify ${from}` })
  }
})

/** Of leaves, which are whole chunks and more, what lies in the range. @param {AsyncIterable<Leaf>} leaves @param {Span} span */
async function * within (leaves, { start, end }) {
  for await (const { offset, bytes } of leaves) {
    const part = bytes.subarray(Math.max(0, start - offset), Math.max(0, end - offset))
    if (part.length > 0) yield part
  }
}

/** @param {string} name */
function isRoot (name) {
  try {
    return rootOf(name).length === HASH_LEN
  } catch {
    return false
  }
}

/** The outboard of a file, made now. @param {string} name @param {{ groupLog?: number, signal: AbortSignal }} options */
async function grown (name, { groupLog, signal }) {
  const { pieces, size } = await openInput(name, signal)
  return withProgress({ label: name, total: size }, tick =>
    createOutboard(pieces, { groupLog, signal, onProgress: ({ detail }) => tick(detail.done) }))
}

/**
 * The outboard of a file, as bao, bao-tree and iroh keep it: all pairs in pre-order, perhaps with the length in front.
 *
 * @param {string} name @param {string} blob  the name of the file it belongs to @param {number} [groupLog]
 */
async function stored (name, blob, groupLog = DEFAULT_GROUP_LOG) {
  const size = await sizeOf(blob) ?? 0
  const file = new Uint8Array(await readFile(name))
  const len = outboardLen(size, groupLog)
  const front = file.length - len
  if (front !== 0 && front !== 8) {
    throw new Failure(`${name} has ${file.length} bytes: the outboard of ${blob} has ${len} at group log ${groupLog}, and 8 more with its length in front`)
  }
  const bytes = file.subarray(front)
  // Nothing else names the root. Whether the file is the one that the outboard speaks of shows when the slice is checked on its way out.
  const root = len === 0 ? await hashStream(blob) : rootHash(bytes.subarray(0, HASH_LEN), bytes.subarray(HASH_LEN, PAIR_LEN))
  return Outboard.from({ root, size, groupLog, bytes })
}
