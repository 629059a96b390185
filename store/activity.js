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

/** What goes on behind who began it, one thing at a time. */
export class Background {
  #onFailure
  #last = /** @type {Promise<unknown>} */ (Promise.resolve())
  /** Does anything go on? */
  isBusy = false

  /** @param {(error: unknown) => void} onFailure  called at once, whoever waits or not */
  constructor (onFailure) {
    this.#onFailure = onFailure
  }

  /** Begins when what was begun before has ended. @param {() => Promise<unknown>} work @throws what that has failed with */
  async begin (work) {
    await this.#last
    this.isBusy = true
    this.#last = work().finally(() => { this.isBusy = false })
    this.#last.catch(this.#onFailure)
  }

  /** Waits until nothing goes on any more. @returns {Promise<unknown>} @throws what has failed */
  end () { return this.#last }

  /** The same, and forgets what has failed. */
  async settle () {
    await this.#last.catch(() => {})
    this.#last = Promise.resolve()
  }
}
