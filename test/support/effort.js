// Sizes of the suites that draw random cases. EFFORT=0.2 makes them five times smaller, EFFORT=5 five times larger.
import { EFFORT } from '#runtime'

/** @param {number} count  of cases at EFFORT=1 @returns {number} at least 1 */
export const atEffort = count => Math.max(1, Math.round(count * EFFORT))

/** Of cases in a row: 1 for each of them at EFFORT=1 and above, 5 for every fifth at EFFORT=0.2. @returns {number} */
export const strideAtEffort = () => Math.max(1, Math.round(1 / EFFORT))
