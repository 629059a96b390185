// Reads outboards in files or elsewhere, page by page, when pairs are needed. An outboard may be larger than the
// memory.

import { DEFAULT_GROUP_LOG, MAX_GROUP_LOG, PAIR_LEN } from '../core/constants.js'
import { HEADER_LEN, assertInteger, assertOptions, describe } from '../core/bytes.js'
import { assertKnownOptions } from '../core/options.js'
import { PAGE_LEN, PageCache } from '../source/page-cache.js'
import { assertOrder } from './pairs.js'
import { placeOf } from '../tree/geometry.js'
import { parseRoot, toCid } from '../hash/cid.js'
import { parentStep, startOf } from '../tree/walk.js'
import { readHeader } from '../source/header.js'
import { toRandomAccess } from '../source/source.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { NamedBlob } from '../hash/cid.js' */
/** @import { Order } from './pairs.js' */
/** @import { PairReader, RandomAccess, SliceOutboard } from '../core/types.js' */

/**
 * @typedef {object} OutboardLayout
 * @property {number} [size]  bytes of the blob; needed unless the outboard has a header
 * @property {number} [groupLog]  0 to 16; default: 4
 * @property {Order} [order]  default: 'pre'
 * @property {boolean} [header]  true if the outboard begins with the size in 8 bytes, as in bao; default: false
 */
/** @typedef {NamedBlob & OutboardLayout} OutboardInfo  what the bytes of an outboard do not say */

/**
 * Names of accepted properties. An `Outboard` or `WrittenOutboard` may be passed as the info; its `root` and `bytes`
 * are not read.
 */
export const OUTBOARD_INFO = ['cid', 'size', 'groupLog', 'order', 'header', 'root', 'bytes']

/**
 * Opens an outboard in a file, or in anything else that can be read at any offset. Nothing in it is trusted: pairs are
 * checked against the root when they are used. A missing pair causes an error only when it is needed.
 *
 *     const info = await writeOutboard('movie.mp4', 'movie.mp4.obao4')
 *     const outboard = await openOutboard('movie.mp4.obao4', info)
 *
 * @param {Uint8Array | Blob | RandomAccess | string | URL} source  bytes after the last pair are ignored
 * @param {OutboardInfo} info  the result of `writeOutboard`, or an `Outboard` with the same pairs
 * @returns {Promise<PagedOutboard>} the caller closes it
 * @throws {BaoError} BAO_BAD_HEADER, BAO_SIZE_TOO_LARGE, only if the size is read from a header
 */
export async function openOutboard (source, info) {
  assertOptions('info', info, '{ cid, size, ... }')
  assertKnownOptions(info, OUTBOARD_INFO)
  const { size, groupLog = DEFAULT_GROUP_LOG, order = 'pre', header = false } = info
  const hash = parseRoot(info.cid)
  assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
  assertOrder(order)
  if (size !== undefined || !header) assertInteger('size', size)
  const file = await toRandomAccess(source)
  try {
    const layout = { root: hash, size: size ?? await readHeader(file), groupLog, order }
    const pages = new PageCache(file, header ? HEADER_LEN : 0)
    return new PagedOutboard(pages, layout, place => place[order] * PAIR_LEN, () => file.close())
  } catch (error) {
    await file.close()
    throw error
  }
}

/** An outboard whose pairs are read when they are needed. Any number of readers may use it at the same time. */
export class PagedOutboard {
  #pages
  #offsetOf
  #close
  /** The hash of the blob: 32 bytes. */
  root
  /** The size of the blob in bytes. */
  size
  /** A group is 2^groupLog chunks. The outboard has the pairs of parents of this level or higher. */
  groupLog
  /** @type {Order} */
  order

  /**
   * Callers use `openOutboard`, which checks its arguments.
   *
   * @param {PageCache} pages
   * @param {{ root: Uint8Array, size: number, groupLog: number, order: Order }} layout
   * @param {(place: { pre: number, post: number }, start: number) => number} offsetOf  returns the offset of a pair in
   *   the pages. Gets the places of the pair in outboards, and the offset in the blob at which its subtree begins
   * @param {() => Promise<void> | void} [close]
   */
  constructor (pages, { root, size, groupLog, order }, offsetOf, close = () => {}) {
    this.#pages = pages
    this.#offsetOf = offsetOf
    this.#close = close
    this.root = root
    this.size = size
    this.groupLog = groupLog
    this.order = order
  }

  /** The CID of the blob. @returns {CID} */
  get cid () { return toCid(this.root) }

  /**
   * The pair of a parent.
   *
   * @param {number} node  in-order number
   * @returns {Promise<Uint8Array | undefined>} 64 fresh bytes; undefined if the outboard does not have the pair
   */
  async pair (node) {
    assertInteger('node', node)
    if (placeOf(node, this.size, this.groupLog) === undefined) return undefined
    const reader = this.reader()
    await reader.prepare?.([node])
    const pair = new Uint8Array(PAIR_LEN)
    return reader.copyPair(parentStep(node, this.size, this.groupLog, true, true), pair, 0) ? pair : undefined
  }

  /** Returns a reader of pairs for one user at a time, with pages of its own. @returns {PairReader} */
  reader () {
    /** The pages that the last `prepare` has loaded. */
    let pages = /** @type {Map<number, Uint8Array>} */ (new Map())
    return {
      prepare: async (nodes, steps) => { pages = await this.#pages.load(this.#pagesOf(steps ?? this.#steps(nodes))) },
      copyPair: (step, out, at) => {
        const from = this.#offsetOf(step, step.start)
        const page = pages.get(Math.floor(from / PAGE_LEN))
        const pair = page?.subarray(from % PAGE_LEN, from % PAGE_LEN + PAIR_LEN)
        if (pair === undefined || pair.length < PAIR_LEN) return false
        out.set(pair, at)
        return true
      }
    }
  }

  /** The places of parents in outboards, and where their subtrees begin. @param {number[]} nodes */
  #steps (nodes) {
    return nodes.flatMap(node => {
      const place = placeOf(node, this.size, this.groupLog)
      return place === undefined ? [] : [{ ...place, start: startOf(node) }]
    })
  }

  /** @param {{ pre: number, post: number, start: number }[]} steps @returns {number[]} increasing */
  #pagesOf (steps) {
    const pages = new Set(steps.map(step => Math.floor(this.#offsetOf(step, step.start) / PAGE_LEN)))
    return [...pages].sort((a, b) => a - b)
  }

  /** Closes the file. */
  async close () { await this.#close() }

  async [Symbol.asyncDispose] () { await this.close() }
}

/**
 * Returns a reader of the pairs of any outboard.
 *
 * @param {SliceOutboard} outboard
 * @returns {PairReader}
 */
export function pairsOf (outboard) {
  if (typeof outboard?.reader === 'function') return outboard.reader()
  if (typeof outboard?.copyPair !== 'function') {
    throw new TypeError(`"outboard" expected an outboard, got ${describe(outboard)}`)
  }
  return /** @type {PairReader} */ (outboard)
}

/** Does what `pairsOf` does, for synchronous callers. @param {SliceOutboard} outboard @returns {PairReader} */
export function pairsAtHand (outboard) {
  const pairs = pairsOf(outboard)
  if (typeof pairs.prepare === 'function') {
    throw new TypeError('"outboard" expected an outboard in memory, got one that is read page by page')
  }
  return pairs
}
