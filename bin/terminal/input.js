// Opens the inputs of a command: files by name, and stdin as `-`.

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { constants } from 'node:os'
import { abortable } from '../../lib/source/async-util.js'
import { Failure } from './errors.js'

/** @import { Readable } from 'node:stream' */
/** @import { Context } from '../types.js' */
/**
 * @typedef {object} Input
 * @property {string} name
 * @property {AsyncIterable<Uint8Array>} pieces  its bytes
 * @property {string | AsyncIterable<Uint8Array>} source  the path of a file, because the library reads files faster; or
 *   `pieces`
 * @property {number} [size]  bytes, if known in advance
 */

/** Bytes per read. A read of this length takes much less time than hashing its bytes. */
const PIECE_LEN = 1 << 20

/**
 * @param {string} name
 * @param {AbortSignal} signal
 * @returns {Promise<Input>}
 */
export async function openInput (name, signal) {
  const size = name === '-' ? undefined : await sizeOf(name)
  const open = () => name === '-' ? process.stdin : createReadStream(name, { highWaterMark: PIECE_LEN })
  const pieces = piecesOf(open, signal)
  return { name, size, pieces, source: size === undefined ? pieces : name }
}

/**
 * Opens the stream only when its first bytes are read, because before that nobody would handle an error.
 *
 * @param {() => Readable} open @param {AbortSignal} signal
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * piecesOf (open, signal) {
  signal.throwIfAborted()
  // A pipe may wait for its writer for ever, also to be opened, and a stream that is destroyed waits for that.
  yield * abortable(open(), signal)
}

/**
 * Processes one input after the other; no name means stdin. If one fails, the others are still processed.
 *
 * @param {string[]} names
 * @param {Context} context
 * @param {(input: Input) => Promise<void>} work
 */
export async function eachInput (names, { signal, attempt }, work) {
  for (const name of names.length === 0 ? ['-'] : names) {
    await attempt(async () => work(await openInput(name, signal)))
  }
}

/**
 * @param {string} name
 * @returns {Promise<number | undefined>} bytes of a file; undefined for pipes, devices, and files of length 0, because
 *   the system may generate their content when they are read
 */
export async function sizeOf (name) {
  const stats = await stat(name)
  if (stats.isDirectory()) {
    // Reading the directory would fail with the same error.
    const reason = { code: 'EISDIR', errno: -constants.errno.EISDIR }
    throw Object.assign(new Failure(`${name} is a directory`), reason)
  }
  return stats.isFile() && stats.size > 0 ? stats.size : undefined
}
