// Chooses the files of a folder by patterns like those in .gitignore.

import ignore from 'ignore'
import { describe } from '../../../lib/core/bytes.js'
import { MAX_PATH_LEN } from '../safe-names.js'

/**
 * The maximum number of characters in the memory of a matcher, which remembers each path that it has seen, and all
 * folders above the path. After that, a new matcher replaces it.
 */
const REMEMBERED_LEN = 1 << 25

/**
 * @typedef {object} SelectionOptions  patterns as in .gitignore: `node_modules`, `*.log`, `/build`, `!keep.log`. They
 *   match paths below the folder
 * @property {string[]} [include]  choose only files that at least one of these matches. Default: all files
 * @property {string[]} [ignore]  leave out files and whole folders that at least one of these matches
 */

/**
 * @typedef {object} Selection  paths are relative to the folder, with `/`. A pattern never matches an invalid path, or
 *   one of more than 4096 characters
 * @property {(path: string) => boolean} hasFile  true if the file is chosen
 * @property {(path: string) => boolean} entersFolder  true if files in the folder may be chosen
 */

/** @param {SelectionOptions} options @returns {Selection} @throws {TypeError} */
export function selectionOf ({ include, ignore: left }) {
  const isIncluded = matcherOf('include', include)
  const isLeftOut = matcherOf('ignore', left)
  return {
    hasFile: path => (isIncluded?.(path) ?? true) && !isLeftOut?.(path),
    entersFolder: path => !isLeftOut?.(`${path}/`)
  }
}

/** @param {string} name @param {unknown} patterns @returns {((path: string) => boolean) | undefined} */
function matcherOf (name, patterns) {
  if (patterns === undefined) return undefined
  if (!Array.isArray(patterns) || patterns.some(pattern => typeof pattern !== 'string')) {
    throw new TypeError(`"${name}" expected an array of patterns, got ${describe(patterns)}`)
  }
  const newRules = () => ignore({ ignorecase: false }).add(patterns)
  let rules = newRules()
  let len = 0
  return path => {
    if (path.length > MAX_PATH_LEN || !ignore.isPathValid(path)) return false
    len += path.length * path.split('/').length
    if (len > REMEMBERED_LEN) {
      rules = newRules()
      len = 0
    }
    return rules.ignores(path)
  }
}
