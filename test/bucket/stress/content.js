// The contents of blobs, by number: most are small, some have several groups, and a few several parts.
import { noise } from '../../support/inputs.js'

export const CONTENTS = 60
/** The first ones may be members of sequences. */
export const MEMBERS = 30

/** @param {number} number @returns {Uint8Array} */
export const contentOf = number => noise(lenOf(number), number + 1)

/** @param {number} number */
function lenOf (number) {
  if (number % 30 === 29) return 6_000_000 + number
  return number % 3 === 0 ? 20_000 * (number + 1) : 100 * (number + 1)
}
