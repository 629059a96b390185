// The header that counts over how many servers a request has come, each of which has asked the next one for what it
// lacks. Without it, servers that ask each other would wait for each other. Source: RFC 8586.

const HEADER = 'cdn-loop'
/** The entry of a server of ours. Its name is the same for all of them: they count, and need no names of their own. */
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
