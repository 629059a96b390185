// Works on several items of a source at the same time, and yields the results in the order of the items.

import { abortable, createYielder } from '../source/async-util.js'
import { describe } from '../core/bytes.js'

/** @template T @typedef {Iterable<T> | AsyncIterable<T>} Many */

/** @param {string} name @param {unknown} many @param {string} items  what the items should be @throws {TypeError} */
export function assertMany (name, many, items) {
  const isObject = typeof many === 'object' && many !== null && !(many instanceof Uint8Array)
  if (isObject && (Symbol.asyncIterator in many || Symbol.iterator in many)) return
  throw new TypeError(`"${name}" expected an iterable of ${items}, got ${describe(many)}`)
}

/**
 * True if the items are available without waiting, as in an array.
 *
 * @template T
 * @param {Many<T>} items
 * @returns {items is Iterable<T>}
 */
export const isAtHand = items => !(Symbol.asyncIterator in items)

/**
 * Yields the items until a signal is aborted.
 *
 * @template T
 * @param {Many<T>} items
 * @param {AbortSignal} [signal]
 * @returns {Many<T>} for `for await`; without a signal, the items themselves
 */
export const untilSignal = (items, signal) => signal === undefined ? items : untilAbort(items, signal)

/**
 * @template T
 * @param {Many<T>} items @param {AbortSignal} signal
 * @returns {AsyncGenerator<T>}
 */
async function * untilAbort (items, signal) {
  for await (const item of abortable(items, signal)) {
    signal.throwIfAborted()
    yield item
  }
}

/**
 * Begins a task for each item, and yields the results in the order of the items. If a task or the source of the items
 * fails, the results of all earlier items are yielded before the error is thrown. When the generator has ended, for
 * whatever reason, no task is under way.
 *
 * @template Item, Result
 * @param {AsyncIterable<Item>} items
 * @param {(item: Item) => number} aheadOf  returns how many tasks, including that of the item, may be under way when
 *   the next item is requested
 * @param {(item: Item, before: Promise<Result>[]) => Promise<Result>} begin  begins the task of an item. `before`: the
 *   tasks that are under way
 * @returns {AsyncGenerator<Result>}
 */
export async function * inOrder (items, aheadOf, begin) {
  const underWay = /** @type {Promise<Result>[]} */ ([])
  const failures = /** @type {unknown[]} */ ([])
  const yieldWhenDue = createYielder() // databases in memory never yield to the event loop
  try {
    for await (const item of beforeFailure(items, failures)) {
      const result = begin(item, [...underWay])
      result.catch(() => {}) // The failure is thrown when the result is due.
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
 * Works on several items at the same time, and waits for all of them. After a failure, no other work begins.
 *
 * @template T
 * @param {Many<T>} items @param {number} parallel  at least 1 @param {(item: T) => Promise<unknown>} work
 */
export async function forEachOf (items, parallel, work) {
  const results = inOrder(eachOf(items), () => parallel - 1, work)
  while (!(await results.next()).done);
}

/**
 * Yields items. An array is no async iterable, which `inOrder` needs.
 *
 * @template T @param {Many<T>} items @returns {AsyncGenerator<T>}
 */
export async function * eachOf (items) { yield * items }

/**
 * Yields the items until they end or fail.
 *
 * @template T
 * @param {AsyncIterable<T>} items
 * @param {unknown[]} failures  receives the failure, if there is one
 */
async function * beforeFailure (items, failures) {
  try {
    yield * items
  } catch (failure) {
    failures.push(failure)
  }
}
