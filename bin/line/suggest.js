// Suggests what a misspelt command or option may mean.

import { UsageError } from '../terminal/errors.js'

/** Commands that users of other programs look for. @type {Record<string, string>} */
const ELSEWHERE = {
  check: "'fsck' for a store, or 'hash --check' for files",
  delete: "'rm'",
  download: "'fetch'",
  init: "'add', which makes a missing store",
  remove: "'rm'",
  verify: "'hash --check' for files, or 'fsck' for a store"
}
/** The most letters in which a name may differ. */
const MOST_SLIPS = 2

/** @param {string} name @param {string[]} commands */
export const unknownCommand = (name, commands) => unknown('command', name, Object.hasOwn(ELSEWHERE, name)
  ? ELSEWHERE[name]
  : nearest(name, commands))

/** @param {string} name  as it was written @param {string[]} options  as they are written */
export const unknownOption = (name, options) => unknown('option', name, nearest(name, options))

/** @param {string} kind @param {string} name @param {string | undefined} meant  with its quotes */
const unknown = (kind, name, meant) =>
  new UsageError(`unknown ${kind} '${name}'${meant === undefined ? '' : `: did you mean ${meant}?`}`)

/**
 * The first of the known names that differ least from a name, in quotes.
 *
 * @param {string} name @param {string[]} known
 * @returns {string | undefined} undefined if all differ in more than two letters, or in more than half of them
 */
function nearest (name, known) {
  const most = Math.min(MOST_SLIPS, name.length / 2)
  const [best] = known.map(other => ({ other, slips: slipsBetween(name, other) }))
    .filter(({ slips }) => slips <= most).sort((a, b) => a.slips - b.slips)
  return best && `'${best.other}'`
}

/**
 * How many letters must be changed, added, left out, or exchanged with the next one, to make one word of another.
 *
 * @param {string} a @param {string} b
 */
function slipsBetween (a, b) {
  if (Math.abs(a.length - b.length) > MOST_SLIPS) return Infinity
  /** The distances of the beginnings of both words. @type {number[][]} */
  const slips = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    slips.push([i])
    for (let j = 1; j <= b.length; j++) {
      const changed = slips[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)
      const areSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = areSwapped ? slips[i - 2][j - 2] + 1 : Infinity
      slips[i].push(Math.min(changed, swapped, slips[i - 1][j] + 1, slips[i][j - 1] + 1))
    }
  }
  return slips[a.length][b.length]
}
