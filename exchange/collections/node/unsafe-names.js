// Finds the names of a folder that `exportDirectory` would refuse, so that an import can report them. The names arrive
// in order, so only those in the folders above the last name are kept in memory.

import { faultIn, fold } from '../safe-names.js'

/** The maximum number of names that are kept. */
const MAX_NAMES = 10

/** Does what `SafeNames` does, for names that are sorted by their bytes. */
export class UnsafeNames {
  /** How many names `exportDirectory` would refuse, by themselves or because of earlier ones. */
  count = 0
  /** The first of these names. */
  names = /** @type {string[]} */ ([])
  /** The folders above the last name, each with the spellings of its entries by their folded forms. */
  #folders = [{ prefix: '', spelt: /** @type {Map<string, string>} */ (new Map()) }]

  /** Checks a name. @param {string} name  the next name in the order */
  note (name) {
    if (this.#isSafe(name)) return
    this.count++
    if (this.names.length < MAX_NAMES) this.names.push(name)
  }

  /** @param {string} name */
  #isSafe (name) {
    if (faultIn(name, { isForWindows: false }) !== undefined) return false
    while (!name.startsWith(this.#last.prefix)) this.#folders.pop() // this folder has no more names
    for (let end; (end = name.indexOf('/', this.#last.prefix.length)) !== -1;) {
      const prefix = name.slice(0, end + 1)
      if (!this.#isFree(prefix)) return false
      this.#folders.push({ prefix, spelt: new Map() })
    }
    return this.#isFree(name)
  }

  /** True if no system takes the last part of a path for another entry of the same folder. @param {string} path */
  #isFree (path) {
    const { prefix, spelt } = this.#last
    const part = path.slice(prefix.length)
    const key = fold(part.replace(/\/$/, ''))
    const known = spelt.get(key)
    if (known === undefined) spelt.set(key, part)
    return known === undefined || (known === part && part.endsWith('/'))
  }

  get #last () { return this.#folders[this.#folders.length - 1] }
}
