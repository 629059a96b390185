// Shows a progress bar on the terminal for work that takes long. There is none when stderr is not a terminal.

import { formatRate, formatSize } from './format.js'

/**
 * What the calls of the library take as `onProgress`. `done` is in bytes.
 *
 * @typedef {(event: { detail: { done: number } }) => void} ProgressListener
 */

/** Milliseconds before the bar appears, and between two updates. */
const PATIENCE = 500
const INTERVAL = 100
const BAR_LEN = 24
const DEFAULT_COLUMNS = 80

/**
 * @template T
 * @param {{ name: string, size?: number }} shown  what is worked on, and its bytes when known
 * @param {(onProgress: ProgressListener) => Promise<T>} work  calls the listener, or hands it to the library
 * @returns {Promise<T>}
 */
export async function withProgress ({ name, size }, work) {
  if (!process.stderr.isTTY) return work(() => {})
  const began = performance.now()
  let next = began + PATIENCE
  let isDrawn = false
  try {
    return await work(({ detail: { done } }) => {
      const now = performance.now()
      if (now < next) return
      next = now + INTERVAL
      isDrawn = true
      const columns = process.stderr.columns || DEFAULT_COLUMNS
      process.stderr.write(`\r${barLine({ name, done, size, ms: now - began }).slice(0, columns - 1)}\x1b[K`)
    })
  } finally {
    if (isDrawn) process.stderr.write('\r\x1b[K')
  }
}

/** @param {{ name: string, done: number, size?: number, ms: number }} state */
export function barLine ({ name, done, size, ms }) {
  const speed = formatRate(done, ms)
  if (size === undefined) return `${name}  ${formatSize(done)}  ${speed}`
  const share = Math.min(done / size, 1)
  const full = Math.floor(share * BAR_LEN)
  const left = Math.ceil((1 - share) / share * ms / 1000)
  const bar = `[${'#'.repeat(full)}${'-'.repeat(BAR_LEN - full)}]`
  return `${name}  ${bar} ${Math.floor(share * 100)} %  ${speed}  ${left} s left`
}
