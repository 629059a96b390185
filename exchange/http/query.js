// Reads the parameters of a query. Accepts only the shortest spelling of each, because others would fill caches.

import { badRequest } from './errors.js'

/** Entries of a page of a list. */
const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1000
/** Ranges in one request, at most. */
export const MAX_RANGES = 256

/** @param {URLSearchParams} query @param {string} name @returns {string | undefined} */
export function only (query, name) {
  const values = query.getAll(name)
  if (values.length > 1) throw badRequest(`"${name}" is given more than once`)
  return values[0]
}

/** @param {string} name @param {string} text */
export function integer (name, text) {
  if (/^(0|[1-9]\d*)$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text)
  throw badRequest(`"${name}" expected an integer from 0 to 2^53 - 1`)
}

/**
 * The boundaries of ranges like `0-64,100-110`: half-open, increasing, not touching.
 *
 * @param {string} name @param {string} text
 * @param {object} [options]
 * @param {boolean} [options.mayBeOpen]  true if the last range may lack an end, like `100-`. Default: false
 * @param {number} [options.most]  the maximum number of ranges
 */
export function boundariesIn (name, text, { mayBeOpen = false, most = MAX_RANGES } = {}) {
  const parts = text.split(',', most + 1)
  if (parts.length > most) throw badRequest(`"${name}" expected at most ${most} ranges here`)
  const boundaries = parts.flatMap((part, i) => {
    const [, start, end] = /^(\d+)-(\d*)$/.exec(part) ?? []
    const isOpen = mayBeOpen && end === '' && i === parts.length - 1
    if (start === undefined || (end === '' && !isOpen)) throw badRequest(`"${name}" expected ranges like 0-64,100-110`)
    return isOpen ? [integer(name, start)] : [integer(name, start), integer(name, end)]
  })
  if (boundaries.some((boundary, i) => i > 0 && boundary <= boundaries[i - 1])) {
    throw badRequest(`"${name}" expected increasing ranges that do not touch`)
  }
  return boundaries
}

/** How many entries a page of a list has. @param {URLSearchParams} query */
export function limitIn (query) {
  const given = only(query, 'limit') ?? `${DEFAULT_LIMIT}`
  const limit = /^\d{1,4}$/.test(given) ? Number(given) : 0
  if (limit < 1 || limit > MAX_LIMIT) throw badRequest(`"limit" expected a number from 1 to ${MAX_LIMIT}`)
  return limit
}

/** The form of ranges in an ETag. @param {string} text */
export const labelOf = text => text.replaceAll(',', '_')
