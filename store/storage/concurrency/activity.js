// Keeps track of calls that are under way, and of data that failed calls may have left without a record. So a store
// that closes can tell the next opening whether it must look for leftovers.

export class Activity {
  #hasLeftovers = false
  /** The promises of all work that is under way; for work that may take long, also the function that ends it. */
  #underWay = /** @type {Map<Promise<unknown>, ((reason: unknown) => void) | undefined>} */ (new Map())

  #assertAllowed

  /** @param {() => void} [assertAllowed]  throws when no work may begin */
  constructor (assertAllowed = () => {}) {
    this.#assertAllowed = assertAllowed
  }

  /** Is no work under way, and has no failed call left data that the next opening should delete? */
  get isClean () { return this.#underWay.size === 0 && !this.#hasLeftovers }

  /**
   * Runs work that may leave data behind if it is interrupted.
   *
   * @template T @param {() => Promise<T>} work
   * @param {(reason: unknown) => void} [end]  makes the work fail soon; for work that waits for a source
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
   * Ends all work that is under way, and waits for it. No work may begin from then on.
   *
   * @param {unknown} reason  the work fails with this
   */
  async end (reason) {
    while (this.#underWay.size > 0) {
      const ending = [...this.#underWay]
      for (const [, end] of ending) end?.(reason)
      await Promise.allSettled(ending.map(([working]) => working))
    }
  }

  /**
   * Notes that the next opening must look for leftovers. A record whose write has failed may have reached the disk, and
   * may be there after a crash. So its data stays until the next opening, under an id that is never settled.
   */
  noteLeftovers () { this.#hasLeftovers = true }
}

/** Runs work in the background, one piece at a time. */
export class Background {
  #onFailure
  #last = /** @type {Promise<unknown>} */ (Promise.resolve())
  /** Is any work under way? */
  isBusy = false

  /** @param {(error: unknown) => void} onFailure  called as soon as a piece of work fails */
  constructor (onFailure) {
    this.#onFailure = onFailure
  }

  /**
   * Begins work after the piece of work before it has ended.
   *
   * @param {() => Promise<unknown>} work
   * @throws the error of the piece of work before
   */
  async begin (work) {
    await this.#last
    this.isBusy = true
    this.#last = work().finally(() => { this.isBusy = false })
    this.#last.catch(this.#onFailure)
  }

  /** Waits until the work has ended. @returns {Promise<unknown>} @throws the error of that work */
  end () { return this.#last }

  /** Waits until the work has ended, and ignores a failure. */
  async settle () {
    await this.#last.catch(() => {})
    this.#last = Promise.resolve()
  }
}
