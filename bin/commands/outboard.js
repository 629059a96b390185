// baobox outboard; and where other commands have their outboards from

import { readFile } from 'node:fs/promises'
import { DEFAULT_GROUP_LOG, HASH_LEN, PAIR_LEN, hashStream, outboardLen, rootHash } from '../../lib/index.js'
import { Outboard, createOutboard } from '../../encoder/index.js'
import { command, flag, groupLogOption, text } from '../arguments.js'
import { Failure } from '../terminal/errors.js'
import { openInput, sizeOf } from '../terminal/input.js'
import { deliver, refuseTerminal } from '../terminal/output.js'
import { withProgress } from '../terminal/progress.js'

/** @import { Input } from '../terminal/input.js' */

/** Bytes of the length that bao has in front of an outboard. */
const HEADER_LEN = 8

export const outboard = command({
  summary: 'write the hash tree of a file, from which slices of it can be cut without hashing it again',
  usage: ['FILE [--group-log LOG] [--header] [-o OUT]'],
  operands: { what: 'FILE', min: 1, max: 1 },
  options: {
    'group-log': groupLogOption,
    header: flag('with the length of the file in front, 8 bytes, as bao has it'),
    output: text('OUT', 'where the outboard goes, once all of it is there; stdout unless told', 'o')
  },
  notes: ['FILE may be - for stdin. `baobox slice FILE --outboard OUT` takes what this writes, at the same group log: all pairs\nin pre-order, 64 bytes for each 16 KiB of the file at group log 4. Of a file of one chunk group it is empty.'],
  examples: ['baobox outboard video.mp4 -o video.mp4.obao', 'baobox outboard video.mp4 --group-log 0 --header -o video.bao-outboard'],

  async run ({ values: { 'group-log': groupLog, header, output }, operands: [name] }, { signal }) {
    refuseTerminal(output, 'an outboard')
    const { size, bytes } = await grown(await openInput(name, signal), { groupLog, signal })
    await deliver(asPieces(header ? [lengthOf(size), bytes] : [bytes]), output, { label: `outboard of ${name}` })
  }
})

/** @param {Uint8Array[]} pieces */
async function * asPieces (pieces) { yield * pieces }

/** @param {number} size */
function lengthOf (size) {
  const bytes = new Uint8Array(HEADER_LEN)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(size), true)
  return bytes
}

/** The outboard of an input, made now. @param {Input} input @param {{ groupLog?: number, signal: AbortSignal }} options */
export const grown = ({ name, source, size }, { groupLog, signal }) => withProgress({ label: name, total: size }, tick =>
  createOutboard(source, { groupLog, signal, onProgress: ({ detail }) => tick(detail.done) }))

/**
 * The outboard of a file, as bao, bao-tree and iroh keep it: all pairs in pre-order, perhaps with the length in front.
 *
 * @param {string} name @param {string} blob  the name of the file it belongs to @param {number} [groupLog]
 */
export async function stored (name, blob, groupLog = DEFAULT_GROUP_LOG) {
  const size = await sizeOf(blob) ?? 0
  const file = new Uint8Array(await readFile(name))
  const len = outboardLen(size, groupLog)
  const front = file.length - len
  if (front !== 0 && front !== HEADER_LEN) {
    throw new Failure(`${name} has ${file.length} bytes: the outboard of ${blob} has ${len} at group log ${groupLog}, and ${HEADER_LEN} more with its length in front`)
  }
  const bytes = file.subarray(front)
  // Nothing else names the root. Whether the file is the one that the outboard speaks of shows when the slice is checked on its way out.
  const root = len === 0 ? await hashStream(blob) : rootHash(bytes.subarray(0, HASH_LEN), bytes.subarray(HASH_LEN, PAIR_LEN))
  return Outboard.from({ root, size, groupLog, bytes })
}
