// Finds the names that an export would refuse.
import { SafeNames, compareNames } from '../../exchange/collections/safe-names.js'

/** Returns the names that are refused beside the names before them. @param {string[]} names */
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

/** Returns names as a walk gives them: each once, in the order of their bytes. @param {string[]} names */
export const inOrderOfNames = names => [...new Set(names)].sort(compareNames)
