// Reads a RASL URL, which names a blob and hosts that may have it: `rasl://bafkr4i.../?hint=example.org`.
// Source: dasl.ing, "RASL".

import { parseRoot } from '../../../lib/hash/cid.js'

/** How many hints are used. */
const MAX_HINTS = 8

/** @param {unknown} value */
export const isRasl = value => /^rasl:/i.test(String(value))

/**
 * @param {string} text
 * @returns {{ root: Uint8Array, urls: string[] }} `urls`: the URL of the blob at each hint, at most eight
 * @throws {TypeError}
 */
export function parseRasl (text) {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const root = url === undefined ? undefined : rootOf(url.hostname)
  if (url === undefined || root === undefined) throw new TypeError(`'${text}' does not name a blob by a CID of BLAKE3`)
  const urls = url.searchParams.getAll('hint').slice(0, MAX_HINTS).map(hint => {
    const place = `https://${hint}`
    if (!URL.canParse(place) || new URL(place).host !== hint.toLowerCase()) {
      throw new TypeError(`the hint '${hint}' of the RASL URL is not a host`)
    }
    return `${place}/.well-known/rasl/${url.hostname}`
  })
  return { root, urls }
}

/** @param {string} name */
function rootOf (name) {
  try {
    return parseRoot(name)
  } catch {
    return undefined
  }
}
