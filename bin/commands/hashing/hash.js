// baobox hash

import { HASH_LEN, KEY_LEN } from '../../../lib/core/constants.js'
import { Hasher, hashStream } from '../../../lib/hash/index.js'
import { Failure, UsageError } from '../../terminal/errors.js'
import { escapeName, hex } from '../../terminal/format.js'
import { eachInput, openInput } from '../../terminal/input.js'
import { print } from '../../terminal/output.js'
import { withProgress } from '../../terminal/progress.js'
import { checkFiles } from './check.js'

/** @import { Run } from '../../types.js' */
/** @import { Input } from '../../terminal/input.js' */

/** Bytes of output that are computed and printed together. */
const OUTPUT_LEN = 1 << 16

/**
 * @typedef {object} Hashing  how inputs are hashed
 * @property {Uint8Array} [key]
 * @property {string} [context]  of derived keys
 * @property {number} length  bytes of output
 * @property {number} seek  the first byte of output
 * @property {number} [threads]
 * @property {AbortSignal} signal
 */

/** @type {Run<typeof import('../../table/hashing.js').hash>} */
export async function hash ({ values, operands }, context) {
  if (values.raw && operands.length > 1) throw new UsageError('--raw is for one FILE only')
  if (values.keyed && operands.length === 0) throw new UsageError('missing argument FILE: stdin has the key')
  const { signal } = context
  /** @type {Hashing} */
  const hashing = {
    key: values.keyed ? await readKey(signal) : undefined,
    context: values['derive-key'],
    length: values.length ?? HASH_LEN,
    seek: values.seek ?? 0,
    threads: values['no-mmap'] ? 1 : values['num-threads'] || undefined,
    signal
  }
  if (values.check) return checkFiles(operands, values, input => hashOf(input, hashing), context)
  await eachInput(operands, context, async input => {
    if (values.keyed && input.name === '-') throw new Failure('- cannot be hashed with --keyed: stdin has the key')
    const { front, back } = lineAround(values, input.name)
    const pieces = await outputOf(input, hashing)
    await print(front)
    for (const piece of pieces) await print(values.raw ? piece : hex(piece))
    await print(back)
  })
}

/**
 * The strings that are printed before and after the output of a hash.
 *
 * @param {{ raw?: boolean, json?: boolean, tag?: boolean, 'no-names'?: boolean }} values  of the options
 * @param {string} file
 */
function lineAround (values, file) {
  if (values.raw) return { front: '', back: '' }
  if (values.json) return { front: `{"name":${JSON.stringify(file)},"hash":"`, back: '"}\n' }
  if (values['no-names']) return { front: '', back: '\n' }
  const { name, mark } = escapeName(file)
  return values.tag
    ? { front: `${mark}BLAKE3 (${name}) = `, back: '\n' }
    : { front: mark, back: `  ${name}\n` }
}

/** Reads stdin, which must be exactly a key. @param {AbortSignal} signal @returns {Promise<Uint8Array>} */
async function readKey (signal) {
  const { pieces } = await openInput('-', signal)
  let key = Buffer.alloc(0)
  for await (const piece of pieces) {
    key = Buffer.concat([key, piece])
    if (key.length > KEY_LEN) throw new Failure(`stdin has more than the ${KEY_LEN} bytes of a key`)
  }
  if (key.length < KEY_LEN) throw new Failure(`stdin has ${key.length} bytes, expected a key of ${KEY_LEN}`)
  return new Uint8Array(key)
}

/** The first 32 bytes of output. @param {Input} input @param {Hashing} hashing */
async function hashOf (input, hashing) {
  const [bytes] = await outputOf(input, { ...hashing, length: HASH_LEN })
  return bytes
}

/**
 * Hashes an input.
 *
 * @param {Input} input @param {Hashing} hashing
 * @returns {Promise<Iterable<Uint8Array>>} the output
 */
async function outputOf (input, { key, context, length, seek, threads, signal }) {
  if (length === HASH_LEN && seek === 0) {
    return [await withProgress(input, onProgress =>
      hashStream(input.source, { key, context, threads, signal, onProgress }))]
  }
  const hasher = key ? Hasher.keyed(key) : context === undefined ? new Hasher() : Hasher.deriveKey(context)
  await withProgress(input, async onProgress => {
    for await (const piece of input.pieces) {
      hasher.update(piece)
      onProgress({ detail: { done: hasher.bytesHashed } })
    }
  })
  return readOutput(hasher, length, seek)
}

/** @param {Hasher} hasher @param {number} length @param {number} seek */
function * readOutput (hasher, length, seek) {
  const reader = hasher.reader().seek(seek)
  for (let left = length; left > 0; left -= OUTPUT_LEN) yield reader.read(Math.min(left, OUTPUT_LEN))
}
