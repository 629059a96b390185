// baobox hash

import { HASH_LEN, Hasher, hashStream, toCid } from '../../lib/index.js'
import { command, flag, keyOption, size } from '../arguments.js'
import { UsageError } from '../terminal/errors.js'
import { fileLine, hex } from '../terminal/format.js'
import { eachInput } from '../terminal/input.js'
import { print } from '../terminal/output.js'
import { withProgress } from '../terminal/progress.js'

/** @import { Input } from '../terminal/input.js' */

/** Bytes of output that are made and printed at a time: they have no end. */
const OUTPUT_LEN = 1 << 16

export const hash = command({
  summary: 'print the BLAKE3 hash of files or of stdin',
  usage: ['[FILE...]'],
  operands: { what: 'FILE', min: 0, max: Infinity },
  options: {
    key: keyOption,
    length: size(`bytes of output; ${HASH_LEN} unless told`),
    cid: flag('print CIDs, the names that the store goes by')
  },
  notes: [
    'No FILE, or -, means stdin. Each line is the hash, two spaces and the name, also when there is only one:\nwhat reads them need not care how many files a pattern matched. b3sum prints the same.'
  ],
  examples: ['baobox hash README.md', 'baobox hash --length 64 - < README.md'],

  async run ({ values: { key, length, cid }, operands }, context) {
    if (cid && (key ?? length) !== undefined) throw new UsageError('--cid goes with neither --key nor --length: a CID holds the plain hash')
    if (length === 0) throw new UsageError('--length: no output is no hash')
    await eachInput(operands, context, async input => {
      if (length !== undefined) return printOutput(await fed(input, key), length, input.name)
      const root = await hashed(input, key, context.signal)
      await print(fileLine(cid ? `${toCid(root)}` : hex(root), input.name))
    })
  }
})

/** @param {Input} input @param {Uint8Array | undefined} key @param {AbortSignal} signal */
const hashed = ({ name, source, size }, key, signal) => withProgress({ label: name, total: size }, tick =>
  hashStream(source, { key, signal, onProgress: ({ detail }) => tick(detail.done) }))

/** @param {Hasher} hasher @param {number} length @param {string} name */
async function printOutput (hasher, length, name) {
  const reader = hasher.reader()
  let left = length
  for (; left > OUTPUT_LEN; left -= OUTPUT_LEN) await print(hex(reader.read(OUTPUT_LEN)))
  await print(fileLine(hex(reader.read(left)), name))
}

/** A hasher that has taken everything. @param {Input} input @param {Uint8Array} [key] */
const fed = ({ name, pieces, size }, key) => withProgress({ label: name, total: size }, async tick => {
  const hasher = key === undefined ? new Hasher() : Hasher.keyed(key)
  for await (const piece of pieces) {
    hasher.update(piece)
    tick(hasher.bytesHashed)
  }
  return hasher
})
