// One at a time, by name.

export class Locks {
  #tails = /** @type {Map<string, Promise<unknown>>} */ (new Map())

  /**
   * Runs `work` when everything that came before under this name has ended.
   *
   * @template T
   * @param {string} name
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  async run (name, work) {
    const before = this.#tails.get(name)
    const mine = (before ?? Promise.resolve()).then(work, work)
    this.#tails.set(name, mine)
    try {
      return await mine
    } finally {
      if (this.#tails.get(name) === mine) this.#tails.delete(name)
    }
  }
}
