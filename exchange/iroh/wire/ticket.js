// Encodes and decodes tickets of iroh-blobs. A ticket is a string that contains the hash of a blob, and the address of
// a peer that has the blob. It begins with `blob`; the rest is postcard in base32. Sources: iroh-blobs, src/ticket.rs;
// iroh-tickets.

import { base16 } from 'multiformats/bases/base16'
import { base32 } from 'multiformats/bases/base32'
import { HASH_LEN } from '../../../lib/core/constants.js'
import { assertOptions, describe } from '../../../lib/core/bytes.js'
import { BaoError } from '../../../lib/core/errors.js'
import { HASHSEQ, RAW, codecOf, parseRoot, toCid } from '../../../lib/hash/cid.js'
import { decodeAddresses, encodeAddresses } from './address.js'
import { PostcardReader, varint } from './postcard.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName } from '../../../lib/hash/cid.js' */

/**
 * @typedef {object} PeerAddress
 * @property {string} id  the peer's public key, in 64 hexadecimal digits
 * @property {string} [relayUrl]  the URL of a relay that forwards to the peer
 * @property {string[]} [addresses]  for example `192.0.2.1:4433` and `[2001:db8::1]:4433`
 */
/**
 * @typedef {object} Ticket
 * @property {CID} cid  the CID of the blob. The codec 0x80 means a sequence of hashes with all of its members
 * @property {Required<Pick<PeerAddress, 'id' | 'addresses'>> & Pick<PeerAddress, 'relayUrl'>} address
 */

const KIND = 'blob'
/** The maximum number of characters of a ticket. They are enough for about 300 addresses. */
const MAX_TICKET_LEN = 4096
const VARIANT = 0
const ID_LEN = 32
/** The minimum number of digits of a ticket. A ticket of this length has neither a relay nor addresses. */
const MIN_DIGITS = Math.ceil((4 + ID_LEN + HASH_LEN) * 8 / 5)
/** The format of a blob in a ticket. */
const FORMATS = [RAW, HASHSEQ]

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads a ticket. Verifies nothing: bytes that are received later are compared with the hash in the ticket.
 *
 * @param {string} text
 * @returns {Ticket}
 * @throws {BaoError} TICKET_INVALID
 */
export function parseTicket (text) {
  if (typeof text !== 'string') throw new TypeError(`"ticket" expected a string, got ${describe(text)}`)
  if (!text.startsWith(KIND)) throw invalid(`it does not begin with '${KIND}'`)
  if (text.length > MAX_TICKET_LEN) throw invalid(`it has more than ${MAX_TICKET_LEN} characters`)
  const reader = new PostcardReader(decodeBase32(text.slice(KIND.length)), invalid)
  if (reader.byte() !== VARIANT) throw invalid('an unknown version')
  const id = base16.baseEncode(reader.bytes(ID_LEN))
  const relayUrl = decodeRelay(reader)
  const addresses = decodeAddresses(reader)
  const code = FORMATS[reader.byte()]
  if (code === undefined) throw invalid('an unknown format of the blob')
  const cid = toCid(reader.bytes(HASH_LEN), code)
  reader.end()
  return { cid, address: { id, ...relayUrl !== undefined && { relayUrl }, addresses } }
}

/**
 * Writes a ticket, as iroh-blobs does.
 *
 * @param {{ cid: BlobName, address: PeerAddress }} ticket  if the CID has the codec 0x80, the ticket is for all
 *   members, too
 * @returns {string}
 * @throws {TypeError} for an invalid address
 */
export function formatTicket ({ cid, address }) {
  const root = parseRoot(cid, 'cid')
  const { id, relayUrl, addresses } = checkedAddress(address)
  const relay = relayUrl === undefined ? undefined : encoder.encode(relayUrl)
  return KIND + base32.baseEncode(Uint8Array.from([
    VARIANT,
    ...base16.baseDecode(id),
    ...relay === undefined ? [0] : [1, ...varint(relay.length), ...relay],
    ...encodeAddresses(addresses),
    FORMATS.indexOf(codecOf(cid) === HASHSEQ ? HASHSEQ : RAW),
    ...root
  ]))
}

/**
 * Checks an address that a caller has given.
 *
 * @param {PeerAddress} address
 * @returns {Ticket['address']}
 */
export function checkedAddress (address) {
  assertOptions('address', address, '{ id, relayUrl, addresses }')
  const { id, relayUrl, addresses = [] } = address
  if (typeof id !== 'string' || !/^[0-9a-f]{64}$/i.test(id)) {
    throw new TypeError('"address.id" expected 64 hexadecimal digits')
  }
  if (relayUrl !== undefined && !(typeof relayUrl === 'string' && URL.canParse(relayUrl))) {
    throw new TypeError('"address.relayUrl" expected a URL')
  }
  if (!Array.isArray(addresses)) throw new TypeError('"address.addresses" expected an array of strings')
  encodeAddresses(addresses)
  return { id: id.toLowerCase(), ...relayUrl !== undefined && { relayUrl: new URL(relayUrl).href }, addresses }
}

/** True if a string looks like a ticket. @param {string} text */
export const isTicket = text => new RegExp(`^${KIND}[A-Za-z2-7]{${MIN_DIGITS},}$`).test(text)

/** @param {PostcardReader} reader @returns {string | undefined} */
function decodeRelay (reader) {
  const has = reader.byte()
  if (has > 1) throw reader.error('the byte that says whether there is a relay is neither 0 nor 1', reader.at - 1)
  if (has === 0) return undefined
  const start = reader.at
  const bytes = reader.bytes(reader.count())
  try {
    return new URL(decoder.decode(bytes)).href
  } catch {
    throw reader.error('a relay that is not a URL', start)
  }
}

/** @param {string} digits  in any case */
function decodeBase32 (digits) {
  const lower = digits.toLowerCase()
  try {
    const bytes = base32.baseDecode(lower)
    if (base32.baseEncode(bytes) === lower) return bytes
  } catch {}
  throw invalid('it is not base32')
}

/** @param {string} fault @returns {BaoError} */
const invalid = fault => new BaoError('TICKET_INVALID', `this is not a ticket of iroh-blobs: ${fault}`)
