// A bar on the terminal for work that takes its time. Where stderr is no terminal there is none.

import { rate, sized } from './format.js'

/** Milliseconds before the bar shows, and between two looks of it. */
const PATIENCE = 500
const INTERVAL = 100
const BAR_LEN = 24
const DEFAULT_COLUMNS = 80

/**
 * @template T
 * @param {{ label: string, total?: number, isShown?: boolean }} options  `total`: in bytes, when it is known
 * @param {(tick: (done: number) => void) => Promise<T>} work  calls `tick` with the bytes that are done
 * @returns {Promise<T>}
 */
export async function withProgress ({ label, total, isShown = true }, work) {
  if (!isShown || !process.stderr.isTTY) return work(() => {})
  const began = performance.now()
  let next = began + PATIENCE
  let isDrawn = false
  try {
    return await work(done => {
      const now = performance.now()
      if (now < next) return
      next = now + INTERVAL
      isDrawn = true
      const columns = process.stderr.columns || DEFAULT_COLUMNS
      process.stderr.write(`\r${barLine({ label, done, total, ms: now - began }).slice(0, columns - 1)}\x1b[K`)
    })
  } finally {
    if (isDrawn) process.stderr.write('\r\x1b[K')
  }
}

/** @param {{ label: string, done: number, total?: number, ms: number }} state */
export function barLine ({ label, done, total, ms }) {
  const speed = rate(done, ms)
  if (total === undefined) return `${label}  ${sized(done)}  ${speed}`
  const share = Math.min(done / total, 1)
  const full = Math.floor(share * BAR_LEN)
  const left = Math.ceil((1 - share) / share * ms / 1000)
  return `${label}  [${'#'.repeat(full)}${'-'.repeat(BAR_LEN - full)}] ${Math.floor(share * 100)} %  ${speed}  ${left} s left`
}
