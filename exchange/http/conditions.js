// Reads from the headers whether a client has a blob already, and which bytes it wants. Source: RFC 9110, 13
// (conditional requests) and 14 (ranges). Blobs never change and have no date, so a date in a condition never matches.

import { HttpError } from './errors.js'

/** @typedef {{ start: number, end: number }} Span  bytes, half-open */

/**
 * True if the client has the content with this ETag already.
 *
 * @param {Headers} headers  of the request
 * @param {string} etag
 * @throws {HttpError} 412 when `If-Match` does not list this ETag
 */
export function isKnown (headers, etag) {
  const match = headers.get('if-match')
  if (match !== null && !lists(match, etag, true)) {
    throw new HttpError(412, 'HTTP_PRECONDITION', `"If-Match" expected ${etag}`)
  }
  const noneMatch = headers.get('if-none-match')
  return noneMatch !== null && lists(noneMatch, etag, false)
}

/**
 * The range that a client wants. Several ranges, other units and invalid headers are treated like no range,
 * because RFC 9110, 14.2, allows a server to ignore any `Range`.
 *
 * @param {Headers} headers  of the request
 * @param {string} etag
 * @param {number} size  bytes
 * @returns {Span | 'whole' | 'none'} `none`: the range has no bytes
 */
export function rangeOf (headers, etag, size) {
  const header = headers.get('range')
  const condition = headers.get('if-range')
  if (header === null || (condition !== null && condition !== etag)) return 'whole'
  // Two runs of spaces next to each other would take quadratic time.
  const [all, first = '', last = ''] = /^bytes= *(?:(\d+) *)?- *(?:(\d+) *)?$/i.exec(header) ?? []
  if (all === undefined || (first === '' && last === '')) return 'whole'
  if (first === '') {
    if (Number(last) === 0) return 'none'
    return size === 0 ? 'whole' : { start: Math.max(0, size - Number(last)), end: size }
  }
  const [start, end] = [Number(first), last === '' ? Infinity : Number(last) + 1]
  if (last !== '' && end <= start) return 'whole'
  return start < size ? { start, end: Math.min(end, size) } : 'none'
}

/** @param {number} size  bytes */
export const noSuchRange = size =>
  new HttpError(416, 'HTTP_RANGE', `there are ${size} bytes`, { 'content-range': `bytes */${size}` })

/** @param {string} header  a list of entity tags, or `*` @param {string} etag @param {boolean} isStrong */
function lists (header, etag, isStrong) {
  if (header.trim() === '*') return true
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? []
  return tags.some(tag => tag === etag || (!isStrong && tag === `W/${etag}`))
}
