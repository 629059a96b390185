// baobox slice, verify and receive

import { DEFAULT_GROUP_LOG, HASH_LEN } from '../../lib/index.js'
import { encodeSlice } from '../../encoder/index.js'
import { verifyStream } from '../../verifier/index.js'
import { command, groupLogOption, outputOption, rangeOf, rangeOptions, rootOf, storeOption, text } from '../arguments.js'
import { UsageError, hinted } from '../terminal/errors.js'
import { sized } from '../terminal/format.js'
import { openInput } from '../terminal/input.js'
import { grown, stored } from './outboard.js'
import { deliver, print, refuseTerminal } from '../terminal/output.js'
import { withProgress } from '../terminal/progress.js'
import { withStore } from './with-store.js'

/** @import { Leaf } from '../../verifier/slice/leaves.js' */

const CUT_OTHERWISE = 'was it cut with another --start, --end or --group-log?'

/** @typedef {{ start: number, end: number }} Span  bytes, half-open */

export const slice = command({
  summary: 'cut out the part of a blob that proves a range of it',
  usage: ['[--store DIR] CID [--start N] [--end N] [-o FILE]', 'FILE [--outboard FILE] [--group-log LOG] [--start N] [--end N] [-o FILE]'],
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
    refuseTerminal(output, 'a slice')
    if (dir === undefined && !isRoot(name)) {
      const tree = await (outboard === undefined ? grown(await openInput(name, signal), { groupLog, signal }) : stored(outboard, name, groupLog))
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
  usage: ['ROOT [SLICE] [--start N] [--end N] [--group-log LOG] [-o FILE]'],
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
    const leaves = hinting(verifyStream(pieces, { root, ranges: span, groupLog: values['group-log'], signal }))
    await deliver(within(leaves, span), values.output, { label: `verify ${from}` })
  }
})

export const receive = command({
  summary: 'verify a slice as it streams, and keep in a store what it proves',
  usage: ['[--store DIR] CID [SLICE] [--start N] [--end N]'],
  operands: { what: 'CID', min: 1, max: 2 },
  options: { store: storeOption, ...rangeOptions },
  notes: [
    'No SLICE, or -, means stdin. The range must be the one that the slice was cut with, and the group log 4. Kept are\nwhole groups of 16 KiB, so a slice of less leaves nothing. What came before a fault stays, and the rest can follow.',
    'Prints the CID, how much has come that was not here, and whether the blob is whole now.\nA store that is not there yet is made.'
  ],
  examples: ['baobox receive bafkr4i... part.slice --end 1MiB', 'ssh host baobox slice bafkr4i... | baobox receive bafkr4i...'],

  async run ({ values, operands: [name, from = '-'] }, { signal }) {
    const root = rootOf(name)
    const span = rangeOf(values)
    const { pieces } = await openInput(from, signal)
    await withStore(values.store, async store => {
      let verified = 0
      const { received, complete } = await withProgress({ label: name }, tick =>
        store.receive(root, pieces, span, { signal, onProgress: ({ detail: { done } }) => tick(verified = done) }))
        .catch(error => { throw hinted(error, CUT_OTHERWISE, verified === 0) })
      await print(`${name}  ${sized(received)} received, ${complete ? 'whole' : 'not whole yet'}\n`)
    }, { create: true })
  }
})

/** Leaves, and a fault with what it may mean. @param {AsyncIterable<Leaf>} leaves */
async function * hinting (leaves) {
  let isFirst = true
  try {
    for await (const leaf of leaves) {
      isFirst = false
      yield leaf
    }
  } catch (error) {
    throw hinted(error, CUT_OTHERWISE, isFirst)
  }
}

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
