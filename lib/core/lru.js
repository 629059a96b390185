// A cache that keeps the entries that were used last.

/**
 * @template K, V
 * @typedef {{ key: K, value: V, older: Entry<K, V>, newer: Entry<K, V> }} Entry
 */

/**
 * Keeps at most `max` entries: one more takes the place of the one that was used longest ago.
 *
 * Entries stand in a ring, so that each operation takes the same short time. A Map alone could keep the order, too, but
 * to find its first key takes as many steps as entries were deleted in front of it: 2 us among 4096 entries.
 *
 * @template K, V
 */
export class LruCache {
  #max
  #entries = /** @type {Map<K, Entry<K, V>>} */ (new Map())
  /** Where the ring begins and ends: `newer` is the oldest entry, `older` the newest. */
  #ends = /** @type {Entry<K, V>} */ (/** @type {unknown} */ ({}))

  /** @param {number} [max]  at least 1; default: Infinity, for callers that choose what to delete */
  constructor (max = Infinity) {
    this.#max = max
    this.clear()
  }

  get size () { return this.#entries.size }

  /** @param {K} key */
  has (key) { return this.#entries.has(key) }

  /** The value of a key, which counts as used now. @param {K} key @returns {V | undefined} */
  get (key) {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    unlink(entry)
    link(entry, this.#ends)
    return entry.value
  }

  /** The value of a key, which does not count as used. @param {K} key @returns {V | undefined} */
  peek (key) { return this.#entries.get(key)?.value }

  /** @param {K} key @param {V} value  counts as used now */
  set (key, value) {
    this.delete(key)
    const entry = { key, value, older: this.#ends, newer: this.#ends }
    link(entry, this.#ends)
    this.#entries.set(key, entry)
    if (this.#entries.size > this.#max) this.delete(this.#ends.newer.key)
  }

  /** @param {K} key @returns {boolean} was it there? */
  delete (key) {
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    unlink(entry)
    return this.#entries.delete(key)
  }

  clear () {
    this.#entries.clear()
    this.#ends.older = this.#ends.newer = this.#ends
  }

  /** All keys, least recently used first. The one that was given last may be deleted. @returns {Generator<K>} */
  * keys () {
    for (let entry = this.#ends.newer; entry !== this.#ends;) {
      const { key, newer } = entry
      yield key
      entry = newer
    }
  }
}

/** Makes an entry the newest. @template K, V @param {Entry<K, V>} entry @param {Entry<K, V>} ends */
function link (entry, ends) {
  entry.older = ends.older
  entry.newer = ends
  entry.older.newer = entry
  ends.older = entry
}

/** @template K, V @param {Entry<K, V>} entry */
function unlink ({ older, newer }) {
  older.newer = newer
  newer.older = older
}
