// Decides whether the names of a collection can be paths below one folder, on any system. Anybody can make a
// collection, and a name in it must not lead out of the folder, or to the file of another name.

import { BaoError } from '../../lib/core/errors.js'

/**
 * Names of devices in Windows. They have this meaning in every folder, even with an extension or the name of a stream
 * after them.
 */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])$/i
/** Characters that Windows does not allow in a file's name. */
// eslint-disable-next-line no-control-regex
const NOT_IN_WINDOWS = /[<>:"|?*\x00-\x1f]/
/** Characters that some file systems leave out when they compare names. */
const IGNORED = /\p{Default_Ignorable_Code_Point}/gu
/**
 * Characters that a person does not see: those without width at the beginning of a part, and those without width and
 * spaces of any kind at its end. At the end, joiners and variation selectors may follow letters and emoji, but not
 * ASCII.
 */
const UNSEEN = new RegExp([
  /^[\u00ad\u180e\u200b\u2060-\u2064\ufeff\p{Join_Control}\p{Variation_Selector}]/u,
  /[\s\u0085\u00ad\u180e\u200b\u2060-\u2064\u2800\u3164]$/u,
  /[\x20-\x7e][\p{Join_Control}\p{Variation_Selector}]$/u
].map(({ source }) => source).join('|'), 'u')
/** Characters that change the direction of the text after them, so that a person sees a different name. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/
/** Characters that Windows drops at the end of a part, and those that a program may replace with them. */
const LEFT_OUT = /[. \uff0e\ufe52\u2024]$/
/** The maximum length of a part of a path, and of a path, in bytes of UTF-8. All systems support these lengths. */
const MAX_PART_LEN = 255
export const MAX_PATH_LEN = 4096
/** The maximum number of folders of one collection. A name of 4 KiB can make 2048 of them. */
const MAX_FOLDERS = 1 << 22
/** The maximum number of characters of a name that an error message repeats. */
const SHOWN_LEN = 200

/**
 * Gathers names, and refuses each name that is unsafe by itself or together with an earlier name. Each call takes time
 * and memory in proportion to the length of the name.
 */
export class SafeNames {
  #isForWindows
  /** The files by their keys: see `keyOf`. */
  #files = /** @type {Set<string>} */ (new Set())
  /** The numbers of folders, by their keys. The folder above all names has the number 0. */
  #folders = /** @type {Map<string, number>} */ (new Map())
  /** The spelling of the last part of each folder's path, by the number of the folder. */
  #spelt = ['']
  /** The first part of each name: the files and folders to make in the target itself. @type {Set<string>} */
  tops = new Set()

  /**
   * @param {{ isForWindows: boolean }} options  `isForWindows`: true to also refuse names that are wrong only in
   *   Windows
   */
  constructor ({ isForWindows }) {
    this.#isForWindows = isForWindows
  }

  /** @param {string} name @throws {BaoError} PATH_UNSAFE { entry } */
  add (name) {
    const fault = faultIn(name, { isForWindows: this.#isForWindows })
    if (fault !== undefined) throw unsafe(name, fault)
    const parts = name.split('/')
    const last = /** @type {string} */ (parts.pop())
    let folder = 0
    for (const part of parts) folder = this.#enter(folder, part, name)
    const key = keyOf(folder, last)
    if (this.#folders.has(key)) throw unsafe(name, 'a folder of the same collection has this name')
    if (this.#files.has(key)) throw unsafe(name, 'another entry has the same name, on some systems at least')
    this.#files.add(key)
    this.tops.add(parts[0] ?? last)
  }

  /** @param {number} folder @param {string} part  the next part of the name @param {string} name */
  #enter (folder, part, name) {
    const key = keyOf(folder, part)
    if (this.#files.has(key)) throw unsafe(name, 'a file of the same collection would be its folder')
    const known = this.#folders.get(key)
    if (known === undefined) {
      const number = this.#spelt.length
      if (number > MAX_FOLDERS) throw unsafe(name, `the collection has more than ${MAX_FOLDERS} folders`)
      this.#folders.set(key, number)
      this.#spelt.push(part)
      return number
    }
    const spelt = this.#spelt[known]
    if (spelt !== part) throw unsafe(name, `some systems take its folder '${shown(part)}' for '${shown(spelt)}'`)
    return known
  }
}

/** @param {number} folder  its number @param {string} part  the name of a file or folder in it */
const keyOf = (folder, part) => `${folder}/${fold(part)}`

/**
 * Says what is wrong with a name, regardless of other names; undefined if nothing is.
 *
 * @param {string} name @param {{ isForWindows: boolean }} options
 * @returns {string | undefined}
 */
export function faultIn (name, { isForWindows }) {
  if (isLonger(name, MAX_PATH_LEN)) return `it has more than ${MAX_PATH_LEN} bytes`
  for (const part of name.split('/')) {
    const fault = faultOf(part, isForWindows)
    if (fault !== undefined) return fault
  }
  return undefined
}

/**
 * Says what is wrong with one part of a path; undefined if nothing is.
 *
 * @param {string} part @param {boolean} isForWindows
 * @returns {string | undefined}
 */
function faultOf (part, isForWindows) {
  // Two forms that a file system may use: without ignored characters, and with simpler ones in place of some.
  const seen = part.replace(IGNORED, '')
  const simple = seen.normalize('NFKC')
  if (seen === '') return 'a part of it is empty'
  if (isLonger(part, MAX_PART_LEN)) return `a part of it has more than ${MAX_PART_LEN} bytes`
  if (/^\.\.?$/.test(seen) || /^\.\.?$/.test(simple)) return 'it leads to another folder'
  if (/[\\/]/.test(simple)) return 'it has a separator inside a part'
  if (part.includes('\0')) return 'it has a zero byte'
  if (/^[a-z]:/i.test(seen)) return 'it begins with a drive letter'
  if (LEFT_OUT.test(seen)) return 'Windows leaves out the dot or space at the end of a part'
  if (UNSEEN.test(part) || UNSEEN.test(seen)) return 'a part of it begins or ends with an invisible character'
  if (TURNING.test(part)) return 'it has a character that turns the text after it around'
  if (DEVICE.test(simple.split(/[.:]/)[0].trimEnd())) return 'it is a device in Windows'
  if (isForWindows && NOT_IN_WINDOWS.test(seen)) return 'Windows does not allow one of its characters'
  return undefined
}

/**
 * Returns a form that is equal for two parts if some file system takes them for the same, by case, normal form or
 * ignored characters, or if a person does because only their spaces differ. Letters become small first, and then
 * capital: a capital sharp s becomes a small one, and only the small one becomes two capital letters.
 *
 * @param {string} part
 */
export const fold = part => IS_ASCII.test(part)
  ? part.toUpperCase()
  : part.replace(IGNORED, '').replace(/\p{Zs}/gu, ' ').normalize('NFD').toLowerCase().toUpperCase().normalize('NFD')

const IS_ASCII = /^[\x20-\x7e]*$/

const encoder = new TextEncoder()
const scratch = new Uint8Array(MAX_PATH_LEN)

/** True if a string has more than `max` bytes in UTF-8. @param {string} text @param {number} max  bytes */
const isLonger = (text, max) => text.length * 3 > max &&
  (text.length > max || encoder.encodeInto(text, scratch.subarray(0, max)).read < text.length)

/** @param {string} name @param {string} why @returns {BaoError} */
export const unsafe = (name, why) =>
  new BaoError('PATH_UNSAFE', `the name '${shown(name)}' cannot be a path: ${why}`, { entry: name })

/** A name in the form for messages, without control characters, which a terminal would obey. @param {string} name */
const shown = name => JSON.stringify(name.slice(0, SHOWN_LEN)).slice(1, -1)

/**
 * The order of names: that of their bytes in UTF-8, which is that of their code points.
 *
 * @param {string} a @param {string} b
 * @returns {number} negative if `a` comes first
 */
export function compareNames (a, b) {
  const len = Math.min(a.length, b.length)
  for (let i = 0; i < len; i++) {
    const difference = rank(a.charCodeAt(i)) - rank(b.charCodeAt(i))
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** Puts surrogates above all other units, as code points would be. @param {number} unit  a code unit of UTF-16 */
const rank = unit => unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800
