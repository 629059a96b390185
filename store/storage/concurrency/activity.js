// Keeps track of calls that are under way and of data that they may leave without a record, so that closing a store
// can say whether the next opening must look for leftovers.

export class Activity {
  #hasLeftovers = false
  /** Work that is under way, and what makes it end soon, where it may take long. */
  #underWay = /** @type {Map<Promise<unknown>, ((reason: unknown) => void) | undefined>} */ (new Map())

  #assertAllowed

  /** @param {() => void} [assertAllowed]  throws when nothing may be begun */
  constructor (assertAllowed = () => {}) {
    this.#assertAllowed = assertAllowed
  }

  /** Is nothing under way, and nothing left behind that the next opening should sweep away? */
  get isClean () { return this.#underWay.size === 0 && !this.#hasLeftovers }

  /**
   * Runs work that may leave something behind if it is interrupted.
   *
   * @template T @param {() => Promise<T>} work
   * @param {(reason: unknown) => void} [end]  makes it fail soon, for work that waits for a source
   * @returns {Promise<T>}
   */
  async run (work, end) {
    this.#assertAllowed()
    const working = work()
    this.#underWay.set(working, end)
    try {
      return await working
    } finally {
      this.#underWay.delete(working)
    }
  }

  /**
   * Ends all work and waits for that. Nothing new may be begun.
   *
   * @param {unknown} reason  work that is ended fails with it
   */
  async end (reason) {
    while (this.#underWay.size > 0) {
      const ending = [...this.#underWay]
      for (const [, end] of ending) end?.(reason)
      await Promise.allSettled(ending.map(([working]) => working))
    }
  }

  /**
   * Notes that there may be data which the next opening must look at. A record whose write has failed may have
   * reached the disk, and be there after a crash. Its data stays until then, under an id that is never settled.
   */
  noteLeftovers () { this.#hasLeftovers = true }
}

/**
 * Waits for several promises. When one rejects it waits for the others, too, so that nothing is under way any more when
 * callers hear of the failure.
 *
 * @template {unknown[]} T @param {[...T]} underWay @returns {Promise<{ [I in keyof T]: Awaited<T[I]> }>}
 */
export async function allOf (underWay) {
  await Promise.allSettled(underWay)
  return Promise.all(underWay)
}

/** Runs work in the background, one piece at a time. */
export class Background {
  #onFailure
  #last = /** @type {Promise<unknown>} */ (Promise.resolve())
  /** Is any work under way? */
  isBusy = false

  /** @param {(error: unknown) => void} onFailure  called at once, whether somebody waits or not */
  constructor (onFailure) {
    this.#onFailure = onFailure
  }

  /**
   * Begins work when the work before has ended.
   *
   * @param {() => Promise<unknown>} work
   * @throws what the work before has failed with
   */
  async begin (work) {
    await this.#last
    this.isBusy = true
    this.#last = work().finally(() => { this.isBusy = false })
    this.#last.catch(this.#onFailure)
  }

  /** Waits until the work has ended. @returns {Promise<unknown>} @throws what it has failed with */
  end () { return this.#last }

  /** The same, and ignores a failure. */
  async settle () {
    await this.#last.catch(() => {})
    this.#last = Promise.resolve()
  }
}

/**
 * Returns a signal that is aborted when either of two is.
 *
 * @param {AbortSignal} [given]  the caller's
 * @param {AbortSignal} [own]
 */
export const eitherOf = (given, own) => given && own ? AbortSignal.any([given, own]) : given ?? own
