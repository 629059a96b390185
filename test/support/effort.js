// Sizes of the suites that draw random cases or try many places. EFFORT=0.2, the default, makes them five times smaller
// than EFFORT=1, and EFFORT=5 makes them five times larger.
import { EFFORT } from '#runtime'

/** @param {number} count  of cases at EFFORT=1 @returns {number} at least 1 */
export const atEffort = count => Math.max(1, Math.round(count * EFFORT))

/** Of cases in a row: 1 for each of them at EFFORT=1 and above, 5 for every fifth at EFFORT=0.2. @returns {number} */
export const strideAtEffort = () => Math.max(1, Math.round(1 / EFFORT))

/**
 * All of a list at EFFORT=1 and above; below, the first, the last and some between.
 *
 * @template T
 * @param {T[]} list
 */
export const someOf = list => list.filter((_, i) => i % strideAtEffort() === 0 || i === list.length - 1)

/**
 * For ways to do the same with each of many cases. What it returns gives all of a list at EFFORT=1 and above; below,
 * one of it, the next at every call.
 *
 * @returns {<T>(list: T[]) => T[]}
 */
export function waysInTurn () {
  let calls = 0
  return list => EFFORT >= 1 ? list : [list[calls++ % list.length]]
}

/**
 * All pairs of two lists at EFFORT=1 and above; below, as many as it takes for each item to be in one.
 *
 * @template A, B
 * @param {A[]} list @param {B[]} others
 * @returns {[A, B][]} in the order of `list`
 */
export function pairsOf (list, others) {
  const shorter = Math.min(list.length, others.length)
  return list.flatMap((item, i) => others
    .filter((_, j) => EFFORT >= 1 || (i - j) % shorter === 0)
    .map(other => /** @type {[A, B]} */ ([item, other])))
}
