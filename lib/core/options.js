// Refuses options that a function does not know, because a misspelt option would otherwise be ignored.

import { describe } from './bytes.js'

/**
 * @param {object | undefined} options  the options of the caller
 * @param {readonly string[]} known  the names of the options that the function knows
 * @throws {TypeError} that names the first unknown option
 */
export function assertKnownOptions (options, known) {
  if (options === undefined) return
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`"options" expected an object, got ${describe(options)}`)
  }
  for (const name in options) {
    if (known.includes(name)) continue
    const kind = describe(options) // It helps a caller who passed a CID where the options belong.
    const of = ['Object', 'an object'].includes(kind) ? '' : ` of ${kind}`
    const expected = known.length === 0 ? 'no option' : known.join(', ')
    throw new TypeError(`unknown option "${name}"${of}: expected ${expected}`)
  }
}
