// A cache that keeps the most recently used entries.

/**
 * @template K, V
 * @typedef {{ key: K, value: V, older: Entry<K, V>, newer: Entry<K, V> }} Entry
 */

/**
 * Keeps at most `max` entries. Another entry replaces the least recently used one.
 *
 * Entries form a ring, so that each operation takes the same short time. A Map could also keep the order, but finding
 * its first key takes one step per entry that was deleted before that key: 2 us among 4096 entries.
 *
 * @template K, V
 */
export class LruCache {
  #max
  #entries = /** @type {Map<K, Entry<K, V>>} */ (new Map())
  /** The link between the ends of the ring: `newer` is the oldest entry, `older` the newest. */
  #ends = /** @type {Entry<K, V>} */ (/** @type {unknown} */ ({}))

  /** @param {number} [max]  at least 1; default: Infinity, for callers that choose what to delete */
  constructor (max = Infinity) {
    this.#max = max
    this.clear()
  }

  get size () { return this.#entries.size }

  /** @param {K} key */
  has (key) { return this.#entries.has(key) }

  /** Returns the value of a key, and marks the key as used now. @param {K} key @returns {V | undefined} */
  get (key) {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    unlink(entry)
    link(entry, this.#ends)
    return entry.value
  }

  /** Returns the value of a key without marking the key as used. @param {K} key @returns {V | undefined} */
  peek (key) { return this.#entries.get(key)?.value }

  /** Sets the value of a key, and marks the key as used now. @param {K} key @param {V} value */
  set (key, value) {
    this.delete(key)
    const entry = { key, value, older: this.#ends, newer: this.#ends }
    link(entry, this.#ends)
    this.#entries.set(key, entry)
    if (this.#entries.size > this.#max) this.delete(this.#ends.newer.key)
  }

  /** @param {K} key @returns {boolean} false if the cache did not have the key */
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

  /**
   * Yields all keys, beginning with the least recently used. The caller may delete the key that was yielded last.
   *
   * @returns {Generator<K>}
   */
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
