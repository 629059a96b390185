// Where bytes go: stdout, or a file that is there only once it is complete.

import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { Failure, UsageError } from './errors.js'
import { withProgress } from './progress.js'

// What goes wrong is told to whoever wrote; unheard, it would end the process with a stack.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})

/**
 * Writes to stdout, and waits: nothing is read faster than it is taken, and a reader that has gone ends the work.
 *
 * @param {Uint8Array | string} bytes
 * @returns {Promise<void>}
 */
export const print = bytes => new Promise((resolve, reject) => {
  stopWaiting = reject
  process.stdout.write(bytes, error => error ? reject(error) : resolve())
})

/** @type {(reason: unknown) => void} */
let stopWaiting = () => {}

/** Ends the wait for a reader that takes nothing more. @param {unknown} reason  what `print` rejects with */
export const stopPrinting = reason => stopWaiting(reason)

/** @param {string | undefined} file  what -o said @param {string} what  is to be written */
export function refuseTerminal (file, what) {
  if (file === undefined && process.stdout.isTTY) throw new UsageError(`${what} is nothing to read on a terminal: name a file with -o`)
}

/**
 * Writes bytes as they come: to stdout; or to a file, of which nobody sees anything before it is complete.
 *
 * @param {AsyncIterable<Uint8Array>} pieces  a failure of theirs leaves no file
 * @param {string | undefined} file  `-` and undefined mean stdout
 * @param {{ label: string, total?: number }} options  of the progress bar
 * @returns {Promise<number>} bytes
 */
export function deliver (pieces, file, { label, total }) {
  const isStdout = file === undefined || file === '-'
  // Bytes and bar on one terminal would be neither.
  const isShown = !(isStdout && process.stdout.isTTY)
  return withProgress({ label, total, isShown }, tick => {
    const counted = counting(pieces, tick)
    return isStdout ? drain(counted, print) : replace(file, counted)
  })
}

/** @param {string} file @param {AsyncIterable<Uint8Array>} pieces */
async function replace (file, pieces) {
  const stats = await stat(file).catch(() => undefined)
  if (stats?.isDirectory()) throw new Failure(`${file} is a directory`)
  // A device or pipe is written to: putting a file in its place is not what was meant.
  if (stats && !stats.isFile()) return fill(file, 'w', pieces)
  // Where a link leads is what is replaced, not the link.
  const target = stats ? await realpath(file) : file
  const beside = join(dirname(target), `.baobox-${randomUUID()}`)
  try {
    const len = await fill(beside, 'wx', pieces)
    await rename(beside, target)
    return len
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
}

/** @param {string} path @param {'w' | 'wx'} flags @param {AsyncIterable<Uint8Array>} pieces */
async function fill (path, flags, pieces) {
  const handle = await open(path, flags)
  try {
    const len = await drain(pieces, piece => handle.writeFile(piece))
    // A name must not be given to bytes that a power cut would take away. Pipes and devices know nothing of that.
    if (flags === 'wx') await handle.sync()
    return len
  } finally {
    await handle.close()
  }
}

/** @param {AsyncIterable<Uint8Array>} pieces @param {(piece: Uint8Array) => Promise<unknown>} write */
async function drain (pieces, write) {
  let len = 0
  for await (const piece of pieces) {
    await write(piece)
    len += piece.length
  }
  return len
}

/** @param {AsyncIterable<Uint8Array>} pieces @param {(done: number) => void} tick */
async function * counting (pieces, tick) {
  let done = 0
  for await (const piece of pieces) {
    yield piece
    tick(done += piece.length)
  }
}
