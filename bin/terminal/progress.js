// Shows the progress of long work: a bar if stderr is a terminal, else a line every 10 s.

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

/** Milliseconds before the bar appears in a terminal. */
const BAR_DELAY = 500
/** Milliseconds between two updates of the bar. */
const INTERVAL = 100
/** Milliseconds between two lines where stderr is no terminal, and before the first. */
const LINE_INTERVAL = 10_000
const DEFAULT_COLUMNS = 80
/** Columns: of the bar, and of the longest text about a blob of known size, as in `25 %  1.00 MiB/s  3 s left`. */
const MIN_BAR_LEN = 8
const MAX_BAR_LEN = 24
const STATS_WIDTH = 38
/** Columns that a long name gets before there is a bar. */
const NAME_WIDTH = 24
/** A shorter part of a name would say nothing. */
const MIN_NAME_WIDTH = 5

let hasLines = true

/**
 * Says whether progress is printed where stderr is no terminal. With --json and --quiet it is not.
 *
 * @param {boolean} isWanted
 */
export const showLines = isWanted => { hasLines = isWanted }

/**
 * @template T
 * @param {{ name: string, size?: number }} shown  the name of the work, and its bytes if known
 * @param {(onProgress: ProgressListener, hide: () => void) => Promise<T>} work  calls the listener, or passes it to the
 *   library; `hide` removes the bar before a line is printed
 * @param {{ now?: () => number, stream?: Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'columns'> }} [replaced]  by
 *   tests: the clock and stderr
 * @returns {Promise<T>}
 */
export async function withProgress ({ name, size }, work, replaced = {}) {
  const { now = () => performance.now(), stream = process.stderr } = replaced
  const began = now()
  let next = began + (stream.isTTY ? BAR_DELAY : LINE_INTERVAL)
  let isDrawn = false
  const hide = () => {
    if (isDrawn) stream.write('\r\x1b[K')
    isDrawn = false
  }
  try {
    return await work(({ detail: { done, total, rate, name: current, members } }) => {
      const time = now()
      if (time < next) return
      const count = members && `${members.done} of ${members.total} blobs`
      const state = { count, name: current ?? (count ? '' : name), done, size: size ?? total, ms: time - began, rate }
      if (stream.isTTY) {
        next = time + INTERVAL
        isDrawn = true
        stream.write(`\r${barLine({ ...state, columns: stream.columns })}\x1b[K`)
      } else if (hasLines) {
        next = time + LINE_INTERVAL
        const parts = [count, entryText(state.name)].filter(part => part)
        stream.write(`baobox: ${parts.join(': ')}: ${statsOf(state).join(', ')}\n`)
      }
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

/**
 * @typedef {object} WorkState
 * @property {string} name
 * @property {string} [count]  of blobs
 * @property {number} done  bytes
 * @property {number} [size]  bytes
 * @property {number} ms  since the beginning
 * @property {number} [rate]  bytes each second
 */

/**
 * The line of a terminal. A long name loses its middle, and the bar gets shorter or is left out, so that the numbers
 * are always visible.
 *
 * @param {WorkState & { columns?: number }} state
 */
export function barLine ({ columns = DEFAULT_COLUMNS, ...state }) {
  const { name, count, done, size } = state
  const stats = statsOf(state).join('  ')
  const text = entryText(name)
  // A full line would move the cursor to the next one.
  let room = columns - 1 - (size === undefined ? stats.length : Math.max(stats.length, STATS_WIDTH))
  const parts = []
  if (count !== undefined && count.length + 2 <= room) {
    parts.push(count)
    room -= count.length + 2
  }
  const nameWidth = Math.min(widthOf(text), NAME_WIDTH)
  const barLen = size === undefined ? 0 : Math.min(MAX_BAR_LEN, room - nameWidth - 5)
  const shown = cutMiddle(text, room - 2 - (barLen < MIN_BAR_LEN ? 0 : barLen + 3))
  if (shown !== '') parts.push(shown)
  if (size === undefined || barLen < MIN_BAR_LEN) return [...parts, stats].join('  ')
  const full = Math.floor(shareOf(done, size) * barLen)
  return [...parts, `[${'#'.repeat(full)}${'-'.repeat(barLen - full)}] ${stats}`].join('  ')
}

/** How much is done, how fast, and how long the rest takes. @param {WorkState} state @returns {string[]} */
function statsOf ({ done, size, ms, rate = done / ms * 1000 }) {
  const speed = formatRate(rate, 1000)
  if (size === undefined) return [formatSize(done), speed]
  const share = shareOf(done, size)
  const left = share === 1 ? 0 : Math.ceil((size - done) / rate)
  const time = Number.isFinite(left) ? formatTimeLeft(left) : '?'
  return [`${Math.floor(share * 100)} %`, speed, `${time} left`]
}

/** @param {number} done @param {number} size */
const shareOf = (done, size) => size === 0 ? 1 : Math.min(done / size, 1)

/** @param {number} seconds */
function formatTimeLeft (seconds) {
  if (seconds < 100) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 100) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 100 ? `${hours} h ${minutes % 60} min` : `${Math.round(hours / 24)} d`
}

/**
 * Columns of a text. Characters after those of Europe and the Near East may take two.
 *
 * @param {string} text
 */
const widthOf = text => [...text].reduce((sum, character) => sum + widthOfOne(character), 0)

/** @param {string} character */
const widthOfOne = character => /** @type {number} */ (character.codePointAt(0)) < 0x1100 ? 1 : 2

/** Cuts the middle out of a text that has too many columns. @param {string} text @param {number} width */
function cutMiddle (text, width) {
  if (widthOf(text) <= width) return text
  if (width < MIN_NAME_WIDTH) return ''
  const characters = [...text]
  const head = beginning(characters, Math.floor((width - 1) / 2))
  const tail = beginning(characters.reverse(), Math.ceil((width - 1) / 2)).reverse()
  return `${head.join('')}…${tail.join('')}`
}

/** The first characters that have at most so many columns. @param {string[]} characters @param {number} width */
function beginning (characters, width) {
  let used = 0
  const end = characters.findIndex(character => (used += widthOfOne(character)) > width)
  return end < 0 ? characters : characters.slice(0, end)
}
