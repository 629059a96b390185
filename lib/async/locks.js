// Runs work under named locks. Under one name, only one piece of work runs at a time.

export class Locks {
  #tails = /** @type {Map<string, Promise<unknown>>} */ (new Map())

  /**
   * Runs `work` when all work that was requested earlier under this name has ended.
   *
   * @template T
   * @param {string} name
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  run (name, work) { return this.runAll([name], work) }

  /**
   * Runs `work` under several names. It requests all locks at the same moment, so deadlocks are impossible.
   *
   * @template T
   * @param {string[]} names
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  async runAll (names, work) {
    const before = names.map(name => this.#tails.get(name)).filter(tail => tail !== undefined)
    const mine = Promise.allSettled(before).then(work)
    for (const name of names) this.#tails.set(name, mine)
    try {
      return await mine
    } finally {
      for (const name of names) if (this.#tails.get(name) === mine) this.#tails.delete(name)
    }
  }
}
