// Counts the servers that have passed a request on, in a header. Without it, servers that ask each other would wait for
// ever. Source: RFC 8586.

const HEADER = 'cdn-loop'
/** The entry of our servers. All of them use this name, because the count needs no others. */
const ENTRY = /(?:^|,)\s*baobox\s*;\s*hops=(\d{1,3})\s*(?=,|$)/i

/**
 * @param {Headers} headers  of a request
 * @returns {number} 0 if it comes from a client
 */
export function hopsIn (headers) {
  const [, hops = '0'] = ENTRY.exec(headers.get(HEADER) ?? '') ?? []
  return Number(hops)
}

/**
 * Returns headers with a number of hops. In a page, they stay as they are, because other origins would have to allow
 * the header, and no server asks a page.
 *
 * @param {ConstructorParameters<typeof Headers>[0]} headers @param {number} hops
 */
export function withHops (headers, hops) {
  if (hops === 0 || globalThis.location !== undefined) return headers
  const all = new Headers(headers)
  all.append(HEADER, `baobox; hops=${hops}`)
  return all
}
