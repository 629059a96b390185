// baobox hash

import { HASH_LEN, Hasher, hashStream, toCid } from '../../lib/index.js'
import { command, flag, keyOption, size } from '../arguments.js'
import { UsageError } from '../terminal/errors.js'
import { fileLine, hex } from '../terminal/format.js'
import { eachInput } from '../terminal/input.js'
import { print } from '../terminal/output.js'
import { withProgress } from '../terminal/progress.js'

/** @import { Input } from '../terminal/input.js' */

/** Bytes of output that are made and printed at a time. */
const OUTPUT_LEN = 1 << 16

export const hash = command({
  summary: 'print the BLAKE3 hash of files or of stdin',
  usage: ['[FILE...]'],
  operands: { what: 'FILE', min: 0, max: Infinity },
  options: {
    key: keyOption,
    length: size(`bytes of output; default: ${HASH_LEN}`),
    cid: flag('print CIDs, which are the names of blobs in a store')
  },
  notes: [
    'Without FILE, or with -, reads stdin. ' +
    'Prints a line for each file: the hash, two spaces and the file name, as b3sum does.'
  ],
  examples: ['baobox hash README.md', 'baobox hash --length 64 - < README.md'],

  async run ({ values: { key, length, cid }, operands }, context) {
    if (cid && (key ?? length) !== undefined) {
      throw new UsageError('--cid goes with neither --key nor --length: a CID holds the plain hash')
    }
    if (length === 0) throw new UsageError('--length: must be at least 1')
    const { signal } = context
    await eachInput(operands, context, async input => {
      if (length !== undefined) return printOutput(await hasherOf(input, key), length, input.name)
      const root = await withProgress(input, onProgress => hashStream(input.source, { key, signal, onProgress }))
      await print(fileLine(cid ? `${toCid(root)}` : hex(root), input.name))
    })
  }
})

/** @param {Hasher} hasher @param {number} length @param {string} name */
async function printOutput (hasher, length, name) {
  const reader = hasher.reader()
  let left = length
  for (; left > OUTPUT_LEN; left -= OUTPUT_LEN) await print(hex(reader.read(OUTPUT_LEN)))
  await print(fileLine(hex(reader.read(left)), name))
}

/** A hasher that has read the whole input. @param {Input} input @param {Uint8Array} [key] */
const hasherOf = (input, key) => withProgress(input, async onProgress => {
  const hasher = key === undefined ? new Hasher() : Hasher.keyed(key)
  for await (const piece of input.pieces) {
    hasher.update(piece)
    onProgress({ detail: { done: hasher.bytesHashed } })
  }
  return hasher
})
