// baobox slice, verify and receive

import { DEFAULT_GROUP_LOG, HASH_LEN } from '../../lib/index.js'
import { encodeSlice } from '../../encoder/index.js'
import { verifyStream } from '../../verifier/index.js'
import {
  command, groupLogOption, outputOption, rangeOf, rangeOptions, rootOf, storeOption, text
} from '../arguments.js'
import { UsageError, hintAtOptions } from '../terminal/errors.js'
import { formatSize } from '../terminal/format.js'
import { openInput } from '../terminal/input.js'
import { createOutboardOf, readOutboard } from './outboard.js'
import { deliver, print, refuseTerminal } from '../terminal/output.js'
import { withProgress } from '../terminal/progress.js'
import { withStore } from './with-store.js'

/** @import { Leaf } from '../../verifier/slice/leaves.js' */

export const slice = command({
  summary: 'cut out the part of a blob that proves a range of it',
  usage: [
    '[--store DIR] CID [--start N] [--end N] [-o FILE]',
    'FILE [--outboard FILE] [--group-log LOG] [--start N] [--end N] [-o FILE]'
  ],
  operands: { what: 'CID or FILE', min: 1, max: 1 },
  options: {
    store: storeOption,
    outboard: text('FILE', 'the outboard of FILE, with or without a header: saves hashing FILE'),
    ...rangeOptions,
    'group-log': groupLogOption,
    output: outputOption
  },
  notes: [
    'An argument that is a valid CID names a blob in the store; ./NAME is always a file. ' +
    'A slice starts with the size of the blob. It is verified while it is written. ' +
    `A store cuts slices at group log ${DEFAULT_GROUP_LOG}.`
  ],
  examples: [
    'baobox slice video.mp4 --start 10MiB --end 11MiB -o part.slice',
    'baobox slice bafkr4i... --end 64KiB | ssh host baobox verify bafkr4i... --end 64KiB'
  ],

  async run ({ values, operands: [name] }, { signal }) {
    const { store: dir, outboard: file, output, 'group-log': groupLog } = values
    const span = rangeOf(values)
    const shown = { name: `slice of ${name}` }
    refuseTerminal(output, 'a slice')
    if (dir === undefined && !isRoot(name)) {
      const outboard = file === undefined
        ? await createOutboardOf(await openInput(name, signal), { groupLog, signal })
        : await readOutboard(file, name, groupLog)
      await deliver(encodeSlice(name, outboard, span, { signal }), output, shown)
    } else {
      if (file !== undefined) throw new UsageError('--outboard goes with a FILE: a store has its own outboards')
      if (groupLog !== undefined && groupLog !== DEFAULT_GROUP_LOG) {
        throw new UsageError(`--group-log: a store cuts slices at ${DEFAULT_GROUP_LOG} only`)
      }
      const root = rootOf(name)
      await withStore(dir, store => deliver(store.slice(root, span, { signal }), output, shown))
    }
  }
})

export const verify = command({
  summary: 'verify a slice as it arrives, and write the bytes it proves',
  usage: ['ROOT [SLICE] [--start N] [--end N] [--group-log LOG] [-o FILE]'],
  operands: { what: 'ROOT', min: 1, max: 2 },
  options: { ...rangeOptions, 'group-log': groupLogOption, output: outputOption },
  notes: [
    'ROOT is a CID or 64 hexadecimal digits. Without SLICE, or with -, reads stdin. ' +
    'The range and the group log must be those that the slice was cut with.',
    'After an error, stdout has the bytes that were verified before it; ' +
    'FILE is replaced only when everything was verified.'
  ],
  examples: ['baobox verify bafkr4i... part.slice --start 10MiB --end 11MiB -o part.bin'],

  async run ({ values, operands: [name, from = '-'] }, { signal }) {
    const root = rootOf(name)
    const span = rangeOf(values)
    const { pieces } = await openInput(from, signal)
    const leaves = withHints(verifyStream(pieces, { root, ranges: span, groupLog: values['group-log'], signal }))
    await deliver(bytesOf(leaves), values.output, { name: `verify ${from}` })
  }
})

export const receive = command({
  summary: 'verify a slice as it arrives, and keep the bytes it proves in a store',
  usage: ['[--store DIR] CID [SLICE] [--start N] [--end N]'],
  operands: { what: 'CID', min: 1, max: 2 },
  options: { store: storeOption, ...rangeOptions },
  notes: [
    'Without SLICE, or with -, reads stdin. ' +
    `The range must be the one that the slice was cut with, and the group log ${DEFAULT_GROUP_LOG}. ` +
    'The store keeps whole groups of 16 KiB only, except at the end of the blob. ' +
    'After an error, it keeps what was verified before; the rest can follow later.',
    'Prints the CID, how many bytes were received that were missing before, and whether the blob is complete now. ' +
    'A missing store is made.'
  ],
  examples: [
    'baobox receive bafkr4i... part.slice --end 1MiB',
    'ssh host baobox slice bafkr4i... | baobox receive bafkr4i...'
  ],

  async run ({ values, operands: [name, from = '-'] }, { signal }) {
    const root = rootOf(name)
    const span = rangeOf(values)
    const { pieces } = await openInput(from, signal)
    await withStore(values.store, async store => {
      let verified = 0
      const { received, complete } = await withProgress({ name }, onProgress => store.receive(root, pieces, span, {
        signal,
        onProgress (event) {
          verified = event.detail.done
          onProgress(event)
        }
      })).catch(error => { throw hintAtOptions(error, verified === 0) })
      await print(`${name}  ${formatSize(received)} received, ${complete ? 'complete' : 'incomplete'}\n`)
    }, { create: true })
  }
})

/** Passes leaves on, and adds a hint to the error that ends them. @param {AsyncIterable<Leaf>} leaves */
async function * withHints (leaves) {
  let isFirst = true
  try {
    for await (const leaf of leaves) {
      isFirst = false
      yield leaf
    }
  } catch (error) {
    throw hintAtOptions(error, isFirst)
  }
}

/** @param {AsyncIterable<Leaf>} leaves */
async function * bytesOf (leaves) {
  for await (const { bytes } of leaves) yield bytes
}

/** @param {string} name */
function isRoot (name) {
  try {
    return rootOf(name).length === HASH_LEN
  } catch {
    return false
  }
}
