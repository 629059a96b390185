// Writes bytes to stdout, or to a file that appears only when it is complete.

import { open, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { replaceFile } from '#files'
import { Failure, UsageError } from './errors.js'
import { reportProgress, withProgress } from './progress.js'

/** @import { ProgressListener } from './progress.js' */

// Each write handles its own error. Without these listeners, the error would also end the process.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})

/**
 * Writes to stdout and waits until the bytes are taken. Rejects if the reader has closed stdout. After
 * `stopPrinting` it still writes, but rejects immediately.
 *
 * @param {Uint8Array | string} bytes
 * @returns {Promise<void>}
 */
export const print = bytes => new Promise((resolve, reject) => {
  stopWaiting = reject
  process.stdout.write(bytes, error => error ? reject(error) : resolve())
  if (stopped) reject(stopped.reason)
})

/**
 * Prints one result: a line for people, or with --json an object for programs.
 *
 * @param {{ json?: boolean }} values  of the options
 * @param {object} record
 * @param {string} line  without its line break
 */
export const printResult = ({ json }, record, line) => print(`${json ? JSON.stringify(record) : line}\n`)

/** @type {(reason: unknown) => void} */
let stopWaiting = () => {}
/** @type {{ reason: unknown } | undefined} */
let stopped

/**
 * Makes the pending call of `print`, and every later one, stop waiting for the reader. Otherwise an
 * interrupted command would wait again with its next piece if the reader has stopped reading.
 *
 * @param {unknown} reason  what `print` rejects with
 */
export function stopPrinting (reason) {
  stopped = { reason }
  stopWaiting(reason)
}

/**
 * The output file of a command, which may be an operand or the value of -o.
 *
 * @param {string | undefined} operand @param {string | undefined} option  the value of -o
 */
export function outputOf (operand, option) {
  if (operand !== undefined && option !== undefined) throw new UsageError('OUTPUT excludes --output')
  return operand ?? option
}

/**
 * @param {string | undefined} file  `-` and undefined mean stdout
 * @param {string} kind  of the bytes, with its article
 */
export function refuseTerminal (file, kind) {
  if ((file === undefined || file === '-') && process.stdout.isTTY) {
    throw new UsageError(`${kind} is binary and stdout is a terminal: name a file, or pipe it to a program`)
  }
}

/**
 * Writes bytes as they arrive. A file appears under its name only when it is complete.
 *
 * @param {AsyncIterable<Uint8Array>} pieces  if they fail, no file is left
 * @param {string | undefined} file  `-` and undefined mean stdout
 * @param {{ name: string, size?: number }} shown  the name and the bytes for the progress bar
 * @returns {Promise<number>} bytes
 */
export function deliver (pieces, file, shown) {
  const isStdout = file === undefined || file === '-'
  /** @param {ProgressListener} [onProgress] */
  const write = onProgress => {
    const watched = onProgress ? reportProgress(pieces, onProgress) : pieces
    return isStdout ? writeAll(watched, print) : writeFile(file, watched)
  }
  // If the bytes go to a terminal, there is no bar, because it would overwrite them.
  return isStdout && process.stdout.isTTY ? write() : withProgress(shown, write)
}

/**
 * True if bytes go to an output as they arrive: to stdout, or to a device or pipe, which no file must replace.
 *
 * @param {string | undefined} file  `-` means stdout; undefined is no output
 */
export async function isStream (file) {
  if (file === '-') return true
  const stats = file === undefined ? undefined : await stat(file).catch(() => undefined)
  return stats !== undefined && !stats.isFile() && !stats.isDirectory()
}

/** @param {string} file @param {AsyncIterable<Uint8Array>} pieces */
async function writeFile (file, pieces) {
  const stats = await stat(file).catch(() => undefined)
  if (stats?.isDirectory()) throw new Failure(`${file} is a directory`)
  if (await isStream(file)) return writeDevice(file, pieces)
  const folder = dirname(file)
  if (!stats && !await isThere(folder)) throw new Failure(`there is no folder ${folder} for ${file}`)
  // If the file is a symbolic link, its target is replaced, not the link.
  return replaceFile(stats ? await realpath(file) : file, pieces)
}

/** @param {string} path @returns {Promise<boolean>} */
const isThere = path => stat(path).then(() => true, error => error.code !== 'ENOENT')

/** @param {string} path @param {AsyncIterable<Uint8Array>} pieces */
async function writeDevice (path, pieces) {
  const handle = await open(path, 'w')
  try {
    return await writeAll(pieces, piece => handle.writeFile(piece))
  } finally {
    await handle.close()
  }
}

/** @param {AsyncIterable<Uint8Array>} pieces @param {(piece: Uint8Array) => Promise<unknown>} write */
async function writeAll (pieces, write) {
  let len = 0
  for await (const piece of pieces) {
    await write(piece)
    len += piece.length
  }
  return len
}
