// What an export would refuse of some names.
import { SafeNames, compareNames } from '../../exchange/collections/safe-names.js'

/** The names that are refused, each beside those before it. @param {string[]} names */
export function refusedAmong (names) {
  const safe = new SafeNames({ isForWindows: false })
  return names.filter(name => {
    try {
      safe.add(name)
      return false
    } catch {
      return true
    }
  })
}

/** Names as a walk gives them: once each, in the order of their bytes. @param {string[]} names */
export const inOrderOfNames = names => [...new Set(names)].sort(compareNames)
