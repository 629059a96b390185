// Shows a progress bar for long work, if stderr is a terminal.

import { entryText, formatRate, formatSize } from './format.js'

/**
 * The type of `onProgress` in the calls of the library. `done` and `total` are in bytes. `rate` is the recent number of
 * bytes per second, if the library knows it; otherwise the bar shows the rate since the beginning. `name` is the
 * name of the current file, and `members` says how many members of a sequence are done.
 *
 * @typedef {{ done: number, total?: number, rate?: number, name?: string, members?: { done: number, total: number } }
 * } ProgressDetail
 * @typedef {(event: { detail: ProgressDetail }) => void} ProgressListener
 */

/** Milliseconds until the bar appears, and between two updates. */
const PATIENCE = 500
const INTERVAL = 100
const BAR_LEN = 24
const DEFAULT_COLUMNS = 80

/**
 * @template T
 * @param {{ name: string, size?: number }} shown  the name of the work, and its bytes if known
 * @param {(onProgress: ProgressListener, hide: () => void) => Promise<T>} work  calls the listener, or passes it to the
 *   library; `hide` removes the bar before a line is printed
 * @returns {Promise<T>}
 */
export async function withProgress ({ name, size }, work) {
  if (!process.stderr.isTTY) return work(() => {}, () => {})
  const began = performance.now()
  let next = began + PATIENCE
  let isDrawn = false
  const hide = () => {
    if (isDrawn) process.stderr.write('\r\x1b[K')
    isDrawn = false
  }
  try {
    return await work(({ detail: { done, total, rate, ...files } }) => {
      const now = performance.now()
      if (now < next) return
      next = now + INTERVAL
      isDrawn = true
      const columns = process.stderr.columns || DEFAULT_COLUMNS
      const line = barLine({ name: fileText(files) ?? name, done, size: size ?? total, ms: now - began, rate })
      process.stderr.write(`\r${line.slice(0, columns - 1)}\x1b[K`)
    }, hide)
  } finally {
    hide()
  }
}

/**
 * Passes pieces on. After the consumer has used a piece, the listener gets the number of bytes used so far.
 *
 * @param {AsyncIterable<Uint8Array>} pieces @param {ProgressListener} onProgress
 */
export async function * reportProgress (pieces, onProgress) {
  let done = 0
  for await (const piece of pieces) {
    yield piece
    onProgress({ detail: { done: done += piece.length } })
  }
}

/** @param {Pick<ProgressDetail, 'name' | 'members'>} files @returns {string | undefined} */
function fileText ({ name, members }) {
  const count = members && `${members.done} of ${members.total} blobs`
  return name === undefined ? count : [count, entryText(name)].filter(part => part !== undefined).join('  ')
}

/** @param {{ name: string, done: number, size?: number, ms: number, rate?: number }} state */
export function barLine ({ name, done, size, ms, rate = done / ms * 1000 }) {
  const speed = formatRate(rate, 1000)
  if (size === undefined) return `${name}  ${formatSize(done)}  ${speed}`
  const share = Math.min(done / size, 1)
  const full = Math.floor(share * BAR_LEN)
  const left = share === 1 ? 0 : Math.ceil((size - done) / rate)
  const bar = `[${'#'.repeat(full)}${'-'.repeat(BAR_LEN - full)}]`
  const time = Number.isFinite(left) ? formatTimeLeft(left) : '?'
  return `${name}  ${bar} ${Math.floor(share * 100)} %  ${speed}  ${time} left`
}

/** @param {number} seconds */
function formatTimeLeft (seconds) {
  if (seconds < 100) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 100 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
