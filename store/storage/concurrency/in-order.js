// Works on several items of a source at once, and gives the results in the order of the items.

import { abortable, createYielder } from '../../../lib/source/async-util.js'
import { describe } from '../../../lib/core/bytes.js'

/** @template T @typedef {Iterable<T> | AsyncIterable<T>} Many */

/** @param {string} name @param {unknown} many @param {string} what  it should hold @throws {TypeError} */
export function assertMany (name, many, what) {
  const isObject = typeof many === 'object' && many !== null && !(many instanceof Uint8Array)
  if (isObject && (Symbol.asyncIterator in many || Symbol.iterator in many)) return
  throw new TypeError(`"${name}" expected an iterable of ${what}, got ${describe(many)}`)
}

/**
 * Are the items in memory already, as in an array?
 *
 * @template T
 * @param {Many<T>} items
 * @returns {items is Iterable<T>}
 */
export const isAtHand = items => !(Symbol.asyncIterator in items)

/**
 * Items until a signal is aborted.
 *
 * @template T
 * @param {Many<T>} items
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<T>}
 */
export async function * untilSignal (items, signal) {
  for await (const item of signal === undefined ? items : abortable(items, signal)) {
    signal?.throwIfAborted()
    yield item
  }
}

/**
 * Begins work on each item, and gives the results in order. When a work fails, or the items end with a failure, the
 * results of all earlier items come first. No work is under way any more when the results end, however they end.
 *
 * @template Item, Result
 * @param {AsyncIterable<Item>} items
 * @param {(item: Item) => number} aheadOf  how many works, up to this one, may be under way when the next item is
 *   asked for
 * @param {(item: Item, before: Promise<Result>[]) => Promise<Result>} begin  `before`: what is still under way
 * @returns {AsyncGenerator<Result>}
 */
export async function * inOrder (items, aheadOf, begin) {
  const underWay = /** @type {Promise<Result>[]} */ ([])
  const failures = /** @type {unknown[]} */ ([])
  const yieldWhenDue = createYielder() // databases in memory never yield to the event loop
  try {
    for await (const item of beforeFailure(items, failures)) {
      const result = begin(item, [...underWay])
      result.catch(() => {}) // it is thrown when its turn comes
      underWay.push(result)
      while (underWay.length > aheadOf(item)) yield await /** @type {Promise<Result>} */ (underWay.shift())
      await yieldWhenDue()
    }
    while (underWay.length > 0) yield await /** @type {Promise<Result>} */ (underWay.shift())
  } finally {
    await Promise.allSettled(underWay)
  }
  if (failures.length > 0) throw failures[0]
}

/**
 * Items, until they end or fail.
 *
 * @template T
 * @param {AsyncIterable<T>} items
 * @param {unknown[]} failures  gets the failure
 */
async function * beforeFailure (items, failures) {
  try {
    yield * items
  } catch (failure) {
    failures.push(failure)
  }
}
