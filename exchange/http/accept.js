// Reads from the `Accept` header which format a client prefers. Source: RFC 9110, 12.5.1 (Accept).

/**
 * @typedef {object} MediaRange
 * @property {string} type  in lower case; may be `*` in both halves or in the second
 * @property {Map<string, string>} parameters
 * @property {number} quality  0 to 1; 0 if the client does not accept it
 */

/** The media type of the bytes of a blob, without pairs or a container. */
export const PLAIN = 'application/octet-stream'
/** The maximum number of ranges that are read. Thousands would take ten times as long as the rest of a request. */
const MAX_RANGES = 64

/**
 * @param {string | null} header
 * @returns {MediaRange[]} those with the highest quality first
 */
export function acceptedBy (header) {
  const ranges = header?.toLowerCase().split(',', MAX_RANGES).map(mediaRange) ?? []
  return ranges.sort((a, b) => b.quality - a.quality)
}

/** @param {string} text @returns {MediaRange} */
function mediaRange (text) {
  const [type, ...rest] = text.split(';').map(part => part.trim())
  const parameters = /** @type {Map<string, string>} */ (new Map())
  for (const parameter of rest) {
    const [name, value = ''] = parameter.replaceAll('"', '').split('=')
    parameters.set(name, value)
  }
  const quality = Number(parameters.get('q') ?? 1)
  return { type, parameters, quality: quality >= 0 && quality <= 1 ? quality : 0 }
}

/**
 * The range that names a type, if its quality is at least that of the plain bytes of a blob.
 *
 * @param {MediaRange[]} accepted @param {string} type
 */
export function preferred (accepted, type) {
  const range = accepted.find(range => range.type === type)
  return range !== undefined && range.quality > 0 && range.quality >= qualityOf(accepted, PLAIN) ? range : undefined
}

/**
 * The quality of a type, 0 to 1, from the most specific range that matches. Without a header, every type has 1.
 *
 * @param {MediaRange[]} accepted @param {string} type
 */
export function qualityOf (accepted, type) {
  if (accepted.length === 0) return 1
  const closest = [type, `${type.slice(0, type.indexOf('/'))}/*`, '*/*']
  for (const name of closest) {
    const range = accepted.find(range => range.type === name)
    if (range !== undefined) return range.quality
  }
  return 0
}
