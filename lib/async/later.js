// Makes something only when it is first needed.

/**
 * Returns a function that makes a value at its first call, and then returns this value at each call. If making it
 * fails, the next call tries again.
 *
 * @template T
 * @param {() => Promise<T>} make
 * @returns {() => Promise<T>}
 */
export function later (make) {
  /** @type {Promise<T> | undefined} */
  let made
  return () => {
    made ??= make().catch(error => {
      made = undefined
      throw error
    })
    return made
  }
}
