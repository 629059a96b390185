// Decides whether the names of a collection can be paths below one folder, on any system, by the names alone. Anybody
// can make a collection, and a name in it must not lead out of the folder, nor to the file of another name.

import { BaoError } from '../../../lib/core/errors.js'

/** Names of devices in Windows, in every folder, also with an extension or a stream behind them. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])$/i
/** What Windows takes for something else than a part of a file's name. */
// eslint-disable-next-line no-control-regex
const NOT_IN_WINDOWS = /[<>:"|?*\x00-\x1f]/
/** Characters that some file systems leave out when they compare names. */
const IGNORED = /\p{Default_Ignorable_Code_Point}/gu
/** Characters of a name that an error message repeats, at most. */
const SHOWN_LEN = 200

/**
 * Gathers names, and refuses each that is unsafe by itself or beside the ones before it. Each call takes time in the
 * length of the name.
 */
export class SafeNames {
  #isForWindows
  /** The files, folded: names that some file system takes for the same have the same key. */
  #files = /** @type {Set<string>} */ (new Set())
  /** How each folder is spelt, by its folded path. */
  #folders = /** @type {Map<string, string>} */ (new Map())
  /** The first part of each name: what is to be made in the folder itself. @type {Set<string>} */
  tops = new Set()

  /** @param {{ isForWindows: boolean }} options  `isForWindows`: also refuse what only Windows cannot have */
  constructor ({ isForWindows }) {
    this.#isForWindows = isForWindows
  }

  /** @param {string} name @throws {BaoError} PATH_UNSAFE { entry } */
  add (name) {
    const parts = name.split('/')
    for (const part of parts) {
      const fault = faultOf(part, this.#isForWindows)
      if (fault !== undefined) throw unsafe(name, fault)
    }
    this.tops.add(parts[0])
    let key = ''
    let spelt = ''
    for (const part of parts.slice(0, -1)) {
      key += `${fold(part)}/`
      spelt += `${part}/`
      if (this.#files.has(key)) throw unsafe(name, 'a file of the same collection would be its folder')
      const known = this.#folders.get(key)
      if (known === undefined) this.#folders.set(key, spelt)
      else if (known !== spelt) throw unsafe(name, `some systems take its folder for '${shown(known)}'`)
    }
    key += `${fold(parts[parts.length - 1])}/`
    if (this.#folders.has(key)) throw unsafe(name, 'a folder of the same collection has this name')
    if (this.#files.has(key)) throw unsafe(name, 'another entry has the same name, on some systems at least')
    this.#files.add(key)
  }
}

/**
 * What is wrong with one part of a path.
 *
 * @param {string} part @param {boolean} isForWindows
 * @returns {string | undefined}
 */
function faultOf (part, isForWindows) {
  // What a file system may see in the place of the part: it may ignore characters, or replace them by simpler ones.
  const seen = part.replace(IGNORED, '')
  const simple = seen.normalize('NFKC')
  if (seen === '') return 'a part of it is empty'
  if (/^\.\.?$/.test(seen) || /^\.\.?$/.test(simple)) return 'it leads to another folder'
  if (/[\\/]/.test(simple)) return 'it has a separator inside a part'
  if (part.includes('\0')) return 'it has a zero byte'
  if (/^[a-z]:/i.test(seen)) return 'it begins with a drive letter'
  if (/[. ]$/.test(seen)) return 'Windows leaves out the dot or space at the end of a part'
  if (DEVICE.test(seen.split(/[.:]/)[0].trimEnd())) return 'it is a device in Windows'
  if (isForWindows && NOT_IN_WINDOWS.test(seen)) return 'Windows does not have such names'
  return undefined
}

/** The same for all names that some file system takes for the same: by case, normal form or ignored characters. */
const fold = (/** @type {string} */ part) =>
  part.replace(IGNORED, '').normalize('NFD').toUpperCase().toLowerCase().normalize('NFC')

/** @param {string} name @param {string} why @returns {BaoError} */
export const unsafe = (name, why) =>
  new BaoError('PATH_UNSAFE', `the name '${shown(name)}' cannot be a path: ${why}`, { entry: name })

/** A name in a message, without what would write to a terminal. @param {string} name */
const shown = name => JSON.stringify(name.slice(0, SHOWN_LEN)).slice(1, -1)

/**
 * The order of names: that of their bytes in UTF-8, which is that of their code points.
 *
 * @param {string} a @param {string} b
 * @returns {number} negative when `a` comes first
 */
export function compareNames (a, b) {
  const len = Math.min(a.length, b.length)
  for (let i = 0; i < len; i++) {
    const difference = rank(a.charCodeAt(i)) - rank(b.charCodeAt(i))
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** Surrogates stand for code points above all others. @param {number} unit  of UTF-16 */
const rank = unit => unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800
