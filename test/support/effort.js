// Scales the suites that draw random cases or try many places. EFFORT=0.2, the default, makes them five times smaller
// than EFFORT=1, and EFFORT=5 makes them five times larger.
import { EFFORT } from '#runtime'

/** @param {number} count  cases at EFFORT=1 @returns {number} cases to run, at least 1 */
export const atEffort = count => Math.max(1, Math.round(count * EFFORT))

/** Returns the step through a list of cases: 1 at EFFORT=1 and above, 5 at EFFORT=0.2. @returns {number} */
export const strideAtEffort = () => Math.max(1, Math.round(1 / EFFORT))

/**
 * Returns a whole list at EFFORT=1 and above; below, the first item, the last and some between.
 *
 * @template T
 * @param {T[]} list
 */
export const someOf = list => list.filter((_, i) => i % strideAtEffort() === 0 || i === list.length - 1)

/**
 * Makes a function for tests that do the same in several ways with each of many cases. It returns a whole list at
 * EFFORT=1 and above; below, one item of the list, the next one at each call.
 *
 * @returns {<T>(list: T[]) => T[]}
 */
export function waysInTurn () {
  let calls = 0
  return list => EFFORT >= 1 ? list : [list[calls++ % list.length]]
}

/**
 * Makes the functions that declare the tests of several kinds, all of which have the same tests. At EFFORT=1 and above,
 * each kind has all of them; below, the first kind has the first test, the second one the second, and so on around.
 *
 * @param {number} count  of kinds
 * @returns {((title: string, run: () => Promise<void>) => void)[]}  one for each kind, instead of `it`
 */
export const testsInTurn = count => Array.from({ length: count }, (_, kind) => {
  let tests = 0
  return (title, run) => { if (EFFORT >= 1 || tests++ % count === kind) it(title, run) }
})

/**
 * Returns all pairs of two lists at EFFORT=1 and above; below, just enough pairs that each item is in one.
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
