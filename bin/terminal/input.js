// Where bytes come from: files by name, and stdin as `-`.

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { addAbortSignal } from 'node:stream'
import { Failure } from './errors.js'

/** @import { Readable } from 'node:stream' */
/** @import { Context } from '../types.js' */
/**
 * @typedef {object} Input
 * @property {string} name
 * @property {AsyncIterable<Uint8Array>} pieces  its bytes
 * @property {string | AsyncIterable<Uint8Array>} source  the same for who reads files himself: a file's name, else its pieces
 * @property {number} [size]  bytes, when that is known beforehand
 */

/** Bytes per read: as many as make the read itself cheap beside hashing them. */
const PIECE_LEN = 1 << 20

/**
 * @param {string} name
 * @param {AbortSignal} signal
 * @returns {Promise<Input>}
 */
export async function openInput (name, signal) {
  const size = name === '-' ? undefined : await sizeOf(name)
  const pieces = piecesOf(() => name === '-' ? process.stdin : createReadStream(name, { highWaterMark: PIECE_LEN }), signal)
  return { name, size, pieces, source: size === undefined ? pieces : name }
}

/**
 * A stream is opened when its first bytes are wanted: before that nobody would hear of its failure.
 *
 * @param {() => Readable} start @param {AbortSignal} signal
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * piecesOf (start, signal) {
  signal.throwIfAborted()
  // The stream itself is told of the abort, which has to end the wait for bytes that may never come.
  yield * addAbortSignal(signal, start())
}

/**
 * One input after the other; none means stdin. When one fails the others are worked on all the same.
 *
 * @param {string[]} names
 * @param {Context} context
 * @param {(input: Input) => Promise<void>} work
 */
export async function eachInput (names, { signal, fail }, work) {
  for (const name of names.length === 0 ? ['-'] : names) {
    try {
      await work(await openInput(name, signal))
    } catch (error) {
      fail(error)
    }
  }
}

/**
 * Bytes of a file, when its name alone tells: pipes and devices have none, and files that the system makes up say 0.
 *
 * @param {string} name
 */
export async function sizeOf (name) {
  const stats = await stat(name)
  if (stats.isDirectory()) throw new Failure(`${name} is a directory`)
  return stats.isFile() && stats.size > 0 ? stats.size : undefined
}
