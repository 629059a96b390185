// baobox outboard. Also makes and reads the outboards that `baobox slice` needs.

import { readFile } from 'node:fs/promises'
import { DEFAULT_GROUP_LOG, HASH_LEN, PAIR_LEN, hashStream, outboardLen, rootHash } from '../../lib/index.js'
import { Outboard, createOutboard } from '../../encoder/index.js'
import { command, flag, groupLogOption, text } from '../arguments.js'
import { Failure } from '../terminal/errors.js'
import { openInput, sizeOf } from '../terminal/input.js'
import { deliver, refuseTerminal } from '../terminal/output.js'
import { withProgress } from '../terminal/progress.js'

/** @import { Input } from '../terminal/input.js' */

/** Bytes of the size that bao writes in front of an outboard. */
const HEADER_LEN = 8

export const outboard = command({
  summary: 'write the hash tree of a file, so that slices need not hash the file again',
  usage: ['FILE [--group-log LOG] [--header] [-o OUT]'],
  operands: { what: 'FILE', min: 1, max: 1 },
  options: {
    'group-log': groupLogOption,
    header: flag('start with the size of the file, 8 bytes, as bao does'),
    output: text('OUT', 'write to this file, once the outboard is complete; default: stdout', 'o')
  },
  notes: [
    'FILE may be -, which means stdin. The outboard has all pairs of hashes in pre-order: ' +
    `64 bytes for each 16 KiB of the file at group log ${DEFAULT_GROUP_LOG}, and none for a file of one chunk group.`,
    'To cut slices with it, give the same group log: `baobox slice FILE --outboard OUT --group-log LOG`.'
  ],
  examples: [
    'baobox outboard video.mp4 -o video.mp4.obao',
    'baobox outboard video.mp4 --group-log 0 --header -o video.bao-outboard'
  ],

  async run ({ values: { 'group-log': groupLog, header, output }, operands: [name] }, { signal }) {
    refuseTerminal(output, 'an outboard')
    const { size, bytes } = await createOutboardOf(await openInput(name, signal), { groupLog, signal })
    await deliver(streamOf(header ? [headerOf(size), bytes] : [bytes]), output, { name: `outboard of ${name}` })
  }
})

/** @param {Uint8Array[]} pieces */
async function * streamOf (pieces) { yield * pieces }

/** @param {number} size */
function headerOf (size) {
  const bytes = new Uint8Array(HEADER_LEN)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(size), true)
  return bytes
}

/** Hashes an input. @param {Input} input @param {{ groupLog?: number, signal: AbortSignal }} options */
export const createOutboardOf = (input, options) =>
  withProgress(input, onProgress => createOutboard(input.source, { ...options, onProgress }))

/**
 * Reads an outboard as bao, bao-tree and iroh store it: all pairs in pre-order, with or without the size in front.
 *
 * @param {string} name
 * @param {string} blob  the name of the file that the outboard belongs to
 * @param {number} [groupLog]
 */
export async function readOutboard (name, blob, groupLog = DEFAULT_GROUP_LOG) {
  const size = await sizeOf(blob) ?? 0
  const file = new Uint8Array(await readFile(name))
  const len = outboardLen(size, groupLog)
  const frontLen = file.length - len
  if (frontLen !== 0 && frontLen !== HEADER_LEN) {
    throw new Failure(`${name} is not the outboard of ${blob} at group log ${groupLog}: ` +
      `it has ${file.length} bytes, expected ${len}, or ${len + HEADER_LEN} with a header`)
  }
  const bytes = file.subarray(frontLen)
  // The root comes from the outboard. A slice is verified as it is cut, so a file that does not fit is found then.
  const root = len === 0
    ? await hashStream(blob)
    : rootHash(bytes.subarray(0, HASH_LEN), bytes.subarray(HASH_LEN, PAIR_LEN))
  return Outboard.from({ root, size, groupLog, bytes })
}
