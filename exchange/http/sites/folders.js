// Lists the entries of a folder of a site. A site has only the names of its files, not its folders. If the names
// are sorted, those of the files of a folder are neighbours, so a binary search finds them.

export class Folders {
  #all
  #index = /** @type {NameIndex | undefined} */ (undefined)

  /** @param {() => Iterable<string>} names  of all files. They are sorted at the first search for a folder */
  constructor (names) {
    this.#all = names
  }

  /** True if a folder contains files. @param {string} path  with a slash at its end */
  has (path) { return this.#holds(path, this.start(path)) }

  /** The index of the first file of a folder among the sorted names. @param {string} path  with a slash at its end */
  start (path) {
    const { names } = this.#names()
    let low = 0
    let high = names.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (names[middle] < path) low = middle + 1
      else high = middle
    }
    return low
  }

  /**
   * The files and folders in a folder, in order; folders have a slash at their end.
   *
   * @param {string} path  with a slash at its end, or empty for the top
   * @param {number} [start]  the index of the first name to list, which must be in the folder
   * @returns {Generator<[index: number, entry: string]>} `index`: of the first name of the entry
   */
  * entriesOf (path, start = this.start(path)) {
    const { names, shared } = this.#names()
    if (!this.#holds(path, start)) return
    for (let index = start; index < names.length && (index === start || shared[index] >= path.length);) {
      const name = names[index]
      const len = name.indexOf('/', path.length) + 1
      if (name !== path) yield [index, name.slice(path.length, len || undefined)]
      index++
      if (len > 0) while (shared[index] >= len) index++
    }
  }

  /** @param {string} path @param {number} index */
  #holds (path, index) { return this.#names().names[index]?.startsWith(path) === true }

  #names () {
    this.#index ??= indexOf(this.#all())
    return this.#index
  }
}

/**
 * @typedef {object} NameIndex
 * @property {string[]} names  sorted
 * @property {Int32Array} shared  for each name, how many characters it shares with the beginning of the one before it.
 *   So the list of a folder need not compare names, which may be long and similar
 */

/** @param {Iterable<string>} all @returns {NameIndex} */
function indexOf (all) {
  const names = [...new Set(all)].sort()
  const shared = Int32Array.from(names, (name, i) => i === 0 ? 0 : sharedLen(names[i - 1], name))
  return { names, shared }
}

/** @param {string} a @param {string} b */
function sharedLen (a, b) {
  let len = 0
  while (len < a.length && a.charCodeAt(len) === b.charCodeAt(len)) len++
  return len
}
