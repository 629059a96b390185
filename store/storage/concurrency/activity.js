// Keeps track of the calls that are under way, and notes when a failed call may have left data without a record. So a
// store that is being closed knows whether the next opening must look for leftovers.

export class Activity {
  #hasLeftovers = false
  /** The promise of each piece of work that is under way, and the function that ends the work early, if it has one. */
  #underWay = /** @type {Map<Promise<unknown>, ((reason: unknown) => void) | undefined>} */ (new Map())

  #assertAllowed

  /** @param {() => void} [assertAllowed]  throws when no work may begin */
  constructor (assertAllowed = () => {}) {
    this.#assertAllowed = assertAllowed
  }

  /** True if no work is under way, and no failed call may have left data that the next opening should delete. */
  get isClean () { return this.#underWay.size === 0 && !this.#hasLeftovers }

  /**
   * Runs work that may leave data without a record if it is interrupted.
   *
   * @template T @param {() => Promise<T>} work
   * @param {(reason: unknown) => void} [end]  makes the work fail soon; needed for work that waits for a source
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
   * Ends all work that is under way, and waits for it. Callers must not begin work from then on.
   *
   * @param {unknown} reason  the error with which the work fails
   */
  async end (reason) {
    while (this.#underWay.size > 0) {
      const ending = [...this.#underWay]
      for (const [, end] of ending) end?.(reason)
      await Promise.allSettled(ending.map(([working]) => working))
    }
  }

  /**
   * Notes that the next opening must look for leftovers. A record whose write has failed may still have reached the
   * disk. So its data stays until the next opening, and its id counts as under way until then.
   */
  noteLeftovers () { this.#hasLeftovers = true }
}

/** Runs work in the background, one piece at a time. */
export class Background {
  #onFailure
  #last = /** @type {Promise<unknown>} */ (Promise.resolve())
  /** True while a piece of work is under way. */
  isBusy = false

  /** @param {(error: unknown) => void} onFailure  called as soon as a piece of work fails */
  constructor (onFailure) {
    this.#onFailure = onFailure
  }

  /**
   * Waits for the previous piece of work to end, and begins the next one.
   *
   * @param {() => Promise<unknown>} work
   * @throws the error of the previous piece of work
   */
  async begin (work) {
    await this.#last
    this.isBusy = true
    this.#last = work().finally(() => { this.isBusy = false })
    this.#last.catch(this.#onFailure)
  }

  /** Waits until the last piece of work has ended. @returns {Promise<unknown>} @throws the error of that work */
  end () { return this.#last }

  /** Waits until the last piece of work has ended, and ignores its failure. */
  async waitQuietly () {
    await this.#last.catch(() => {})
    this.#last = Promise.resolve()
  }
}
