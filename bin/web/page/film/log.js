// Counts which pieces of the film each host has sent, and which were refused.

import { FILM_LEN } from './facts.js'

/** @import { ByteRange } from '../../../../lib/index.js' */
/** @import { FilmEvent } from './source.js' */

/** @typedef {{ from?: string, refused: boolean }} Piece  16 KiB of the film; `from`: a host, or `kept` */
/** @typedef {FilmEvent & { helper?: string }} Entry  `helper`: the host that has sent these bytes instead */
/** @typedef {{ bytes: number, refused: number, failed: number }} HostCount */

const PIECE_LEN = 1 << 14
const MOST_ENTRIES = 50

export class FilmLog {
  #names
  /** @type {Piece[]} */
  pieces = []
  /** What went wrong, the latest first. @type {Entry[]} */
  entries = []
  /** @type {Record<string, HostCount>} */
  hosts = {}
  /** The number of wrong pieces. */
  refused = 0

  /** @param {string[]} names  of the hosts */
  constructor (names) {
    this.#names = names
    this.clear()
  }

  clear () {
    this.pieces = Array.from({ length: Math.ceil(FILM_LEN / PIECE_LEN) }, () => ({ refused: false }))
    this.entries = []
    this.hosts = Object.fromEntries(this.#names.map(name => [name, { bytes: 0, refused: 0, failed: 0 }]))
    this.refused = 0
  }

  /** True if all of the film is here. */
  get isWhole () { return this.pieces.every(({ from }) => from !== undefined) }

  /** @param {ByteRange[]} ranges  that were there before */
  keep (ranges) {
    for (const { start, end } of ranges) {
      for (let at = start; at < end; at += PIECE_LEN) this.pieces[at / PIECE_LEN].from ??= 'kept'
    }
  }

  /** @param {FilmEvent} event */
  add (event) {
    const { type, host, start, end } = event
    const count = this.hosts[host]
    if (type === 'arrived') {
      count.bytes += end - start
      for (let at = start; at < end; at += PIECE_LEN) this.pieces[at / PIECE_LEN].from = host
      for (const entry of this.entries) {
        if (entry.start >= start && entry.start < end && entry.host !== host) entry.helper ??= host
      }
      return
    }
    if (type === 'refused') {
      this.pieces[Math.floor(start / PIECE_LEN)].refused = true
      this.refused++
      count.refused++
    } else {
      count.failed++
    }
    this.entries = [event, ...this.entries].slice(0, MOST_ENTRIES)
  }
}
