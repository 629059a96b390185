// Finds the names of a folder that `exportDirectory` would refuse, so that an import can report them. Names come in
// order, so only the names in the folders on the way to the last name are in memory.

import { faultIn, fold } from '../safe-names.js'

/** Names that are kept, at most. */
const MAX_NAMES = 10

/** As `SafeNames`, for names that are sorted by their bytes. */
export class UnsafeNames {
  /** How many names `exportDirectory` would refuse, each beside those before it. */
  count = 0
  /** The first of them. */
  names = /** @type {string[]} */ ([])
  /** The folders on the way to the last name, and what is in each: how it is spelt, by what it is folded to. */
  #folders = [{ prefix: '', spelt: /** @type {Map<string, string>} */ (new Map()) }]

  /** @param {string} name  that comes behind those before */
  note (name) {
    if (this.#isSafe(name)) return
    this.count++
    if (this.names.length < MAX_NAMES) this.names.push(name)
  }

  /** @param {string} name */
  #isSafe (name) {
    if (faultIn(name, { isForWindows: false }) !== undefined) return false
    while (!name.startsWith(this.#last.prefix)) this.#folders.pop() // no more names come from this folder
    for (let end; (end = name.indexOf('/', this.#last.prefix.length)) !== -1;) {
      const prefix = name.slice(0, end + 1)
      if (!this.#isFree(prefix)) return false
      this.#folders.push({ prefix, spelt: new Map() })
    }
    return this.#isFree(name)
  }

  /** Does no system take the last part of a path for another one beside it? @param {string} path */
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
