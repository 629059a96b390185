// Encodes and decodes the addresses of a peer in a ticket. The decoded addresses are strings like `192.0.2.1:4433` and
// `[2001:db8::1]:4433`. A ticket has them as a set of socket addresses. Source: the Serialize of SocketAddr in serde.

import { varint } from './postcard.js'

/** @import { PostcardReader } from './postcard.js' */

/** @typedef {{ ip: number[], port: number }} SocketAddress  `ip`: 4 or 16 bytes */

/** The length of an IP address in bytes, by its kind. The kind is encoded before the address. */
const IP_LENS = [4, 16]
const MAX_PORT = 65_535

/**
 * @param {string[]} texts
 * @returns {number[]} bytes: the count, then each address, sorted as iroh sorts them
 * @throws {TypeError} when a string is not an IP address with a port
 */
export function encodeAddresses (texts) {
  const sorted = texts.map(parseAddress).sort(compare)
  const unique = sorted.filter((address, i) => i === 0 || compare(sorted[i - 1], address) !== 0)
  const each = unique.flatMap(({ ip, port }) => [IP_LENS.indexOf(ip.length), ...ip, ...varint(port)])
  return [...varint(unique.length), ...each]
}

/** @param {PostcardReader} reader @returns {string[]} in the order of the ticket */
export const decodeAddresses = reader => Array.from({ length: reader.count() }, () => decodeAddress(reader))

/** @param {PostcardReader} reader */
function decodeAddress (reader) {
  const kind = reader.byte()
  if (kind >= IP_LENS.length) throw reader.error('an address of an unknown kind')
  const ip = reader.bytes(IP_LENS[kind])
  const port = reader.varint()
  if (port > MAX_PORT) throw reader.error(`a port above ${MAX_PORT}`)
  return `${kind === 0 ? ip.join('.') : v6Text(ip)}:${port}`
}

/**
 * @param {string} text
 * @returns {SocketAddress}
 * @throws {TypeError}
 */
function parseAddress (text) {
  const [, host = '', digits] = /^(.+):(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  const ip = host.startsWith('[') ? v6Bytes(host) : v4Bytes(host)
  if (ip !== undefined && port <= MAX_PORT) return { ip, port }
  throw new TypeError(`"addresses" expected strings like 192.0.2.1:4433 and [2001:db8::1]:4433, got ${text}`)
}

/** @param {string} host */
function v4Bytes (host) {
  const ip = /^\d{1,3}(\.\d{1,3}){3}$/.test(host) ? host.split('.').map(Number) : [256]
  return ip.some(byte => byte > 255) ? undefined : ip
}

/** @param {string} host  in brackets */
function v6Bytes (host) {
  if (!/^\[[0-9a-f:.]+\]$/i.test(host) || !URL.canParse(`http://${host}`)) return undefined
  const [head, tail = ''] = new URL(`http://${host}`).hostname.slice(1, -1).split('::')
  const [first, last] = [head, tail].map(part => part === '' ? [] : part.split(':'))
  const zeros = new Array(8 - first.length - last.length).fill('0')
  return [...first, ...zeros, ...last].map(group => parseInt(group, 16)).flatMap(group => [group >> 8, group & 255])
}

/** @param {Uint8Array} ip @returns {string} the shortest form, in brackets */
function v6Text (ip) {
  const groups = Array.from({ length: 8 }, (_, i) => (ip[2 * i] * 256 + ip[2 * i + 1]).toString(16))
  return new URL(`http://[${groups.join(':')}]`).hostname
}

/**
 * Compares addresses by the length of the IP, then by its bytes, then by the port.
 *
 * @param {SocketAddress} a @param {SocketAddress} b
 */
function compare (a, b) {
  const at = a.ip.length === b.ip.length ? a.ip.findIndex((byte, i) => byte !== b.ip[i]) : -1
  if (at >= 0) return a.ip[at] - b.ip[at]
  return a.ip.length - b.ip.length || a.port - b.port
}
