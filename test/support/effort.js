// Sizes of the suites that draw random cases. EFFORT=0.2 makes them five times smaller, EFFORT=5 five times larger.
import { EFFORT } from '#runtime'

/** @param {number} count  of cases at EFFORT=1 @returns {number} at least 1 */
export const atEffort = count => Math.max(1, Math.round(count * EFFORT))
