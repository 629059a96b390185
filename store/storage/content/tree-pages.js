// Stores the tree of a blob in pages. A page is a subtree of six levels with 63 pairs, so that few reads lead from the
// root to any group.
//
// From the group level up, six levels form a band. The name of a page is its band and the last chunk that it can cover.
// A parent has the same in-order number for every size of the blob, and so the same place in the pages. A page begins
// with 8 bytes, one bit for each of its 64 groups, that say which are present; only the lowest band uses them. The
// pairs follow in in-order, up to the last known one. An unknown pair is all zeros, which a known pair never is.

import { DEFAULT_GROUP_LOG as GROUP_LOG, CHUNK_LEN, PAIR_LEN } from '../../../lib/core/constants.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { chunkCount, levelOf } from '../../../lib/tree/geometry.js'
import { VIEWS, dataOf, extentKey, pageKey, placeOfKey } from '../format/keys.js'
import { RunList } from './runs.js'
import { orIfUnreadable } from '../errors.js'
import { getSoonAsync } from './sync-reads.js'

/** @import { SafeDatabase } from '../level/safe-database.js' */
/** @import { Step } from '../../../lib/core/types.js' */

export const GROUP_CHUNKS = 2 ** GROUP_LOG

const PAGE_LEVELS = 6
const PAGE_GROUPS = 2 ** PAGE_LEVELS
const PAGE_PAIRS = PAGE_GROUPS - 1
const PAGE_CHUNKS = PAGE_GROUPS * GROUP_CHUNKS
/** Bytes of a blob that a page of the lowest band covers. */
export const PAGE_SPAN = PAGE_CHUNKS * CHUNK_LEN
const BITS_LEN = PAGE_GROUPS / 8
const BANDS_MAX = 16
/** How many bands a blob of 2^53 - 1 bytes has. */
const BANDS = 7
/** A reader forgets its pages once it has more than this many. A path from the root to a group has at most seven. */
const KEPT_PAGES = 64

/** @typedef {{ band: number, lastChunk: number }} PageName */

/**
 * Finds the page of a parent, and its slot there.
 *
 * @param {number} node  in-order number, at or above the group level
 * @param {number} [level]  of the parent
 */
export function placeInPages (node, level = levelOf(node)) {
  const band = Math.floor((level - GROUP_LOG) / PAGE_LEVELS)
  const lowest = 2 ** (GROUP_LOG + PAGE_LEVELS * band)
  const span = lowest * PAGE_GROUPS
  const lastChunk = (Math.floor(node / span) + 1) * span - 1
  return { page: { band, lastChunk }, slot: Math.floor((node % span) / lowest) }
}

/** Returns the page of the lowest band over a group. @param {number} group  index in the blob @returns {PageName} */
export const pageOfGroup = group => ({ band: 0, lastChunk: (Math.floor(group / PAGE_GROUPS) + 1) * PAGE_CHUNKS - 1 })

/** Returns the pages of all bands over a chunk. @param {number} chunk @returns {PageName[]} */
export const pagesOver = chunk => Array.from({ length: BANDS }, (_, band) => {
  const span = PAGE_CHUNKS * PAGE_GROUPS ** band
  return { band, lastChunk: (Math.floor(chunk / span) + 1) * span - 1 }
})

/**
 * Returns all keys that a complete blob of one chunk group can have: the key of its extent, and the key of the page
 * that a received slice or a repair may have written.
 *
 * @param {number} id
 */
export const keysOfGroup = id => ({ extent: extentKey(id, 0), page: pageKey(id, pageOfGroup(0)) })

/** One page in memory. */
export class Page {
  #bytes
  #slots
  /** One byte for each pair: 1 when it was compared with its expected chaining value. */
  #trusted = /** @type {Uint8Array | undefined} */ (undefined)

  /** @param {Uint8Array} [stored]  copied */
  constructor (stored) {
    this.#bytes = new Uint8Array(BITS_LEN + PAGE_PAIRS * PAIR_LEN)
    if (stored) this.#bytes.set(stored.subarray(0, this.#bytes.length))
    this.#slots = stored ? Math.ceil((stored.length - BITS_LEN) / PAIR_LEN) : 0
  }

  /** A copy of the page in its stored form, without the unknown pairs at its end. */
  get bytes () { return this.#bytes.slice(0, BITS_LEN + this.#slots * PAIR_LEN) }

  /** @param {number} slot @param {Uint8Array} memory @param {number} at  where the 64 bytes of the pair are in it */
  setPair (slot, memory, at) {
    this.#bytes.set(memory.subarray(at, at + PAIR_LEN), BITS_LEN + slot * PAIR_LEN)
    this.#slots = Math.max(this.#slots, slot + 1)
  }

  /** How many pairs are known. */
  get pairCount () {
    let count = 0
    for (let slot = 0; slot < this.#slots; slot++) if (this.pair(slot) !== undefined) count++
    return count
  }

  /** True if the page has neither a pair nor a mark of a group. */
  get isEmpty () { return this.#slots === 0 && this.#bytes.subarray(0, BITS_LEN).every(bits => bits === 0) }

  /** Copies the known pairs of another page into this one. @param {Page} other */
  lay (other) {
    for (let slot = 0; slot < PAGE_PAIRS; slot++) {
      const pair = other.pair(slot)
      if (pair !== undefined) this.setPair(slot, pair, 0)
    }
  }

  /** @param {number} slot @returns {Uint8Array | undefined} a view of 64 bytes; undefined if the pair is unknown */
  pair (slot) {
    const pair = this.#bytes.subarray(BITS_LEN + slot * PAIR_LEN, BITS_LEN + (slot + 1) * PAIR_LEN)
    return pair.some(byte => byte !== 0) ? pair : undefined
  }

  /** Returns true if this pair was compared with its expected chaining value. @param {number} slot */
  isTrusted (slot) { return this.#trusted?.[slot] === 1 }

  /** @param {number} slot */
  trust (slot) {
    this.#trusted ??= new Uint8Array(PAGE_PAIRS)
    this.#trusted[slot] = 1
  }

  /** @param {number} group  of this page, 0 to 63 */
  hasGroup (group) { return (this.#bytes[group >> 3] >> (group & 7) & 1) === 1 }

  clearGroups () { this.#bytes.fill(0, 0, BITS_LEN) }

  /** @param {number} group  of this page, 0 to 63 */
  addGroup (group) { this.#bytes[group >> 3] |= 1 << (group & 7) }
}

/** Pages of one blob, in memory. */
export class Pages {
  #id
  #base
  #pages = /** @type {Map<number, { name: PageName, page: Page }>} */ (new Map())

  /**
   * @param {number} id
   * @param {number} [base]  the id that has the pairs that the blob shares with others
   */
  constructor (id, base) {
    this.#id = id
    this.#base = base
  }

  get count () { return this.#pages.size }

  /** @param {PageName} name @returns {Page | undefined} */
  find (name) { return this.#pages.get(numberOf(name))?.page }

  /** @param {PageName} name */
  get (name) {
    const found = this.find(name)
    if (found) return found
    const page = new Page()
    this.#pages.set(numberOf(name), { name, page })
    return page
  }

  /**
   * Reads the pages that are not in memory yet.
   *
   * @param {SafeDatabase} data
   * @param {PageName[]} names
   * @param {object} options  for the reads
   */
  async load (data, names, options) {
    const missing = new Map(names.filter(name => !this.find(name)).map(name => [numberOf(name), name]))
    const [first, ...others] = missing.values()
    if (first === undefined) return
    if (others.length === 0) {
      await this.read(data, first, options)
      return
    }
    const wanted = [first, ...others]
    const own = await storedPages(data, this.#id, wanted, options)
    const shared = this.#base === undefined ? [] : await storedPages(data, this.#base, wanted, options)
    for (const [i, [number, name]] of [...missing].entries()) {
      this.#pages.set(number, { name, page: pageOf(own[i], shared[i]) })
    }
  }

  /**
   * Reads a page from the database, even if it is already in memory.
   *
   * @param {SafeDatabase} data
   * @param {PageName} name
   * @param {object} options  for the reads
   */
  async read (data, name, options) {
    const own = await orIfUnreadable(getSoonAsync(data, pageKey(this.#id, name), options))
    const shared = this.#base === undefined
      ? undefined
      : await orIfUnreadable(getSoonAsync(data, pageKey(this.#base, name), options))
    const page = pageOf(own, shared)
    this.#pages.set(numberOf(name), { name, page })
    return page
  }

  /** Returns the puts of all pages that end before a chunk, and forgets these pages. @param {number} chunks */
  take (chunks) {
    const puts = []
    for (const [number, { name, page }] of this.#pages) {
      if (name.lastChunk >= chunks) continue
      this.#pages.delete(number)
      if (page.isEmpty) continue
      puts.push({ type: /** @type {const} */ ('put'), key: pageKey(this.#id, name), value: page.bytes })
    }
    return puts
  }

  clear () { this.#pages.clear() }
}

/**
 * @param {SafeDatabase} data @param {number} id @param {PageName[]} names @param {object} options
 * @returns {Promise<(Uint8Array | undefined)[]>}
 */
async function storedPages (data, id, names, options) {
  const keys = names.map(name => pageKey(id, name))
  return await orIfUnreadable(data.getMany(keys, options)) ??
    Promise.all(keys.map(key => orIfUnreadable(data.get(key, options))))
}

/**
 * Joins two stored pages of one name. Pairs of the blob's own page replace those of the shared page.
 *
 * @param {Uint8Array} [own] @param {Uint8Array} [shared]
 */
function pageOf (own, shared) {
  if (shared === undefined) return new Page(own)
  const page = new Page(shared)
  if (own !== undefined) page.lay(new Page(own))
  return page
}

/** Returns a number for each name. Pages end at multiples of 1024 chunks, so 16 bands fit. @param {PageName} name */
const numberOf = ({ band, lastChunk }) => (lastChunk + 1) / BANDS_MAX + band

/**
 * Collects the pairs of a blob in pages. Callers write the pages in the same batch as the extents that the pairs prove.
 */
export class PageEditor {
  #pages

  /** @param {number} id */
  constructor (id) {
    this.#pages = new Pages(id)
  }

  /** @param {number} node @param {Uint8Array} memory @param {number} at  where the pair is in it */
  setPair (node, memory, at) {
    const { page, slot } = placeInPages(node)
    this.#pages.get(page).setPair(slot, memory, at)
  }

  /** @param {number} group  index in the blob */
  addGroup (group) { this.#pages.get(pageOfGroup(group)).addGroup(group % PAGE_GROUPS) }

  /** Reads stored pages, to add to them. @param {SafeDatabase} data @param {PageName[]} names */
  load (data, names) { return this.#pages.load(data, names, VIEWS) }

  /**
   * Returns the puts of all pages that end before a chunk, and forgets these pages.
   *
   * @param {number} [chunks]  default: all pages
   */
  take (chunks = Infinity) { return this.#pages.take(chunks) }
}

/** The stored pairs of one blob, for slices. They are not verified here, because the code that cuts a slice does so. */
export class StoredOutboard {
  #data
  #options
  #pages
  groupLog = GROUP_LOG
  root
  size

  /**
   * @param {SafeDatabase} data
   * @param {Uint8Array} root
   * @param {{ id: number, size: number, base?: number }} blob
   * @param {object} options  for the reads
   */
  constructor (data, root, { id, size, base }, options) {
    this.#data = data
    this.#options = options
    this.#pages = new Pages(id, base)
    this.root = root
    this.size = size
  }

  /** @param {number[]} nodes */
  async prepare (nodes) {
    if (this.#pages.count > KEPT_PAGES) this.#pages.clear()
    await this.#pages.load(this.#data, nodes.map(node => placeInPages(node).page), this.#options)
  }

  /** @param {Pick<Step, 'node'>} step @param {Uint8Array} out @param {number} at */
  copyPair ({ node }, out, at) {
    const { page, slot } = placeInPages(node)
    const pair = this.#pages.find(page)?.pair(slot)
    if (pair === undefined) return false
    out.set(pair, at)
    return true
  }
}

/**
 * Finds the chunks of a blob whose groups are marked as present. It reads only the pages that exist, so a large claimed
 * size does not take more time. Groups after a claimed size are found, too.
 *
 * @param {SafeDatabase} data
 * @param {{ id: number, size: number, sizeProven: boolean }} blob
 * @param {ChunkRanges} [wanted]  where to look. Chunks near these may be found, too. Default: everywhere
 */
export async function presentChunks (data, { id, size, sizeProven }, wanted = ChunkRanges.all) {
  const runs = new RunList()
  for (const [first, limit] of wanted.roundToGroups(GROUP_LOG + PAGE_LEVELS)) {
    for await (const { lastChunk, page } of lowestPages(data, id, first, limit)) {
      for (const [start, end] of markedChunks(lastChunk, page)) runs.add(start, end)
    }
  }
  return sizeProven ? runs.ranges.intersect(new ChunkRanges([0, chunkCount(size)])) : runs.ranges
}

/**
 * Lists the groups that a page of the lowest band marks as present.
 *
 * @param {number} lastChunk
 * @param {Page} page
 * @returns {Generator<[start: number, end: number]>} chunks
 */
export function * markedChunks (lastChunk, page) {
  for (let group = 0; group < PAGE_GROUPS; group++) {
    const start = lastChunk + 1 - PAGE_CHUNKS + group * GROUP_CHUNKS
    if (page.hasGroup(group)) yield [start, start + GROUP_CHUNKS]
  }
}

/** Returns true if a blob of this size can have this page. @param {number} size @param {PageName} page */
export function isPageOf (size, { band, lastChunk }) {
  const span = PAGE_CHUNKS * PAGE_GROUPS ** band
  const start = lastChunk + 1 - span
  return start % span === 0 && chunkCount(size) - start > (band === 0 ? 0 : span / PAGE_GROUPS)
}

/**
 * Yields the pages of the lowest band, and skips extents. Each extent has a page of the lowest band over it; a blob in
 * a file has only pages.
 *
 * @param {SafeDatabase} data @param {number} id
 * @param {number} start  the first chunk under a page @param {number} end  chunk, not included
 */
async function * lowestPages (data, id, start, end) {
  const keys = data.keys({ ...dataOf(id, start, end), ...VIEWS })
  const next = () => orIfUnreadable(keys.next())
  try {
    // On a damaged disk, the keys may not increase. `passed` makes sure that the loop reads each page only once.
    let passed = -1
    for (let key = await next(); key !== undefined; key = await next()) {
      const place = placeOfKey(key)
      if (place === undefined || (place.band ?? 0) > 0 || place.chunk <= passed) continue
      const name = pageOfGroup(Math.floor(place.chunk / GROUP_CHUNKS))
      passed = name.lastChunk
      const stored = await orIfUnreadable(data.get(pageKey(id, name), VIEWS))
      if (stored !== undefined) yield { ...name, page: new Page(stored) }
      keys.seek(pageKey(id, name), VIEWS)
    }
  } finally {
    await keys.close()
  }
}
