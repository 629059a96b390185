// What is under way, and what may lie about: whether the next opening has to look for leftovers.

export class Activity {
  #count = 0
  #hasLeftovers = false

  /** Is nothing under way, and nothing left behind that the next opening should sweep away? */
  get isClean () { return this.#count === 0 && !this.#hasLeftovers }

  /** For what must not be taken for leftovers. @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  async run (work) {
    this.#count++
    try {
      return await work()
    } finally {
      this.#count--
    }
  }

  /**
   * Something may lie about that the next opening has to look at. A record whose writing has failed may have come to the disk, and be there after a crash:
   * its data stays until then, under an id that is never settled.
   */
  leave () { this.#hasLeftovers = true }
}

/**
 * What comes of several things that are under way. When one fails the others are waited for, so that nothing is under way any more when it is told.
 *
 * @template {unknown[]} T @param {[...T]} underWay @returns {Promise<{ [I in keyof T]: Awaited<T[I]> }>}
 */
export async function allOf (underWay) {
  await Promise.allSettled(underWay)
  return Promise.all(underWay)
}
