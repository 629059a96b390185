// What is under way, and what may lie about: whether the next opening has to look for leftovers.

export class Activity {
  #hasLeftovers = false
  /** What is under way, and how to tell it to end, where that may take long. */
  #underWay = /** @type {Map<Promise<unknown>, ((reason: unknown) => void) | undefined>} */ (new Map())

  /** Is nothing under way, and nothing left behind that the next opening should sweep away? */
  get isClean () { return this.#underWay.size === 0 && !this.#hasLeftovers }

  /**
   * For what must not be taken for leftovers.
   *
   * @template T @param {() => Promise<T>} work
   * @param {(reason: unknown) => void} [end]  has it fail soon: for what waits for a source
   * @returns {Promise<T>}
   */
  async run (work, end) {
    const working = work()
    this.#underWay.set(working, end)
    try {
      return await working
    } finally {
      this.#underWay.delete(working)
    }
  }

  /** Waits until nothing is under way, when nothing new is begun. @param {unknown} reason  what fails because of that fails with it */
  async end (reason) {
    while (this.#underWay.size > 0) {
      const ending = [...this.#underWay]
      for (const [, end] of ending) end?.(reason)
      await Promise.allSettled(ending.map(([working]) => working))
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

/** A signal that is aborted when one of these is. @param {AbortSignal} [given]  by the caller @param {AbortSignal} [own] */
export const eitherOf = (given, own) => given && own ? AbortSignal.any([given, own]) : given ?? own
