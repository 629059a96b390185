// Refuses options that a function does not know: a name spelled wrongly must not be ignored without a word.

/**
 * @param {object | undefined} options  what a caller has given
 * @param {readonly string[]} known  names of the options that there are
 * @throws {TypeError} that names the first option that is not known
 */
export function assertKnownOptions (options, known) {
  for (const name in options) {
    if (!known.includes(name)) throw new TypeError(`unknown option "${name}": expected ${known.join(', ')}`)
  }
}
