// Finds the first few of many items in some order. It keeps at most twice as many items as are wanted.

/** @template T */
export class FirstItems {
  #count
  #compare
  #items = /** @type {T[]} */ ([])

  /** @param {number} count  how many are wanted @param {(a: T, b: T) => number} compare  a function for `Array.sort` */
  constructor (count, compare) {
    this.#count = count
    this.#compare = compare
  }

  /** @param {T} item */
  add (item) {
    this.#items.push(item)
    if (this.#items.length >= 2 * this.#count) this.#items = this.take()
  }

  /** The first items so far, in their order. @returns {T[]} */
  take () { return this.#items.sort(this.#compare).slice(0, this.#count) }
}
