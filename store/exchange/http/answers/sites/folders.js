// Finds what is in a folder of a site. Sites have names of files only; those with the same beginning are neighbours in
// the order of names, so that a folder is found without a look at all of them.

/** The character after a slash: the names in a folder come before the name of the folder with this at its end. */
const AFTER_SLASH = '0'

export class Folders {
  #all
  #sorted = /** @type {string[] | undefined} */ (undefined)

  /** @param {() => Iterable<string>} names  of all files. They are sorted when a folder is first looked for */
  constructor (names) {
    this.#all = names
  }

  /** Is anything in a folder? @param {string} path  with a slash at its end */
  has (path) {
    const names = this.#names()
    return names[this.#indexOf(path)]?.startsWith(path) === true
  }

  /**
   * The files and folders in a folder, in order; folders have a slash at their end.
   *
   * @param {string} path  with a slash at its end, or empty for the top
   * @param {number} most  entries that are wanted
   * @returns {{ entries: string[], count: number }} `count`: of all, also those that are not given
   */
  entriesOf (path, most) {
    const names = this.#names()
    const entries = /** @type {string[]} */ ([])
    let count = 0
    let index = this.#indexOf(path)
    while (names[index]?.startsWith(path)) {
      const name = names[index]
      const slash = name.indexOf('/', path.length)
      if (name !== path && ++count <= most) entries.push(name.slice(path.length, slash < 0 ? undefined : slash + 1))
      index = slash < 0 ? index + 1 : this.#indexOf(name.slice(0, slash) + AFTER_SLASH)
    }
    return { entries, count }
  }

  #names () {
    this.#sorted ??= [...new Set(this.#all())].sort()
    return this.#sorted
  }

  /** The index of the first name that does not come before `text`. @param {string} text */
  #indexOf (text) {
    const names = this.#names()
    let low = 0
    let high = names.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (names[middle] < text) low = middle + 1
      else high = middle
    }
    return low
  }
}
