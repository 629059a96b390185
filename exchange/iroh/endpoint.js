// Loads @number0/iroh, which is optional and has native code, and opens endpoints. No other module imports the package.

import { base16 } from 'multiformats/bases/base16'
import { assertBytesOf, describe } from '../../lib/core/bytes.js'
import { BaoError } from '../../lib/core/errors.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { checkedAddress, parseTicket } from './wire/ticket.js'

/** @import { PeerAddress } from './wire/ticket.js' */
/** @import { Iroh, IrohAddress, IrohEndpoint } from './types.js' */

/** The name of iroh-blobs' protocol. Endpoints that serve blobs must accept it. */
export const IROH_ALPN = '/iroh-bytes/4'
/** The same name, in the form that the package takes. */
export const ALPN_BYTES = [...new TextEncoder().encode(IROH_ALPN)]

const SECRET_KEY_LEN = 32
/** The name of the package. It is in a variable, so that bundlers do not try to bundle the package. */
const PACKAGE = '@number0/iroh'

/**
 * @typedef {object} EndpointOptions
 * @property {boolean} [relays]  true to use the relays and the address lookup that n0 runs. If false, peers are reached
 *   only by the addresses in their tickets, and nothing is sent to anybody else. Default: true
 * @property {string} [bindAddress]  the address to listen at, for example `0.0.0.0:4433`. Default: all addresses, and
 *   any free port
 * @property {Uint8Array} [secretKey]  32 bytes, from which the id of the endpoint follows. Default: random bytes
 */

/**
 * Opens an endpoint that accepts requests for blobs. It keeps the process alive until it is closed.
 *
 * @param {EndpointOptions} [options]
 * @returns {Promise<IrohEndpoint>} an `Endpoint` of @number0/iroh
 * @throws {BaoError} IROH_ABSENT
 */
export async function openIrohEndpoint (options = {}) {
  assertKnownOptions(options, ['relays', 'bindAddress', 'secretKey'])
  const { relays = true, bindAddress, secretKey } = options
  if (bindAddress !== undefined && typeof bindAddress !== 'string') {
    throw new TypeError(`"bindAddress" expected a string like 0.0.0.0:4433, got ${describe(bindAddress)}`)
  }
  if (secretKey !== undefined) assertBytesOf('secretKey', secretKey, SECRET_KEY_LEN)
  const { Endpoint, RelayMode, presetMinimal, presetN0 } = await loadIroh()
  const builder = Endpoint.builder()
  if (relays) {
    presetN0(builder)
  } else {
    presetMinimal(builder)
    builder.relayMode(RelayMode.disabled())
  }
  builder.alpns([ALPN_BYTES])
  try {
    if (bindAddress !== undefined) builder.bindAddr(bindAddress)
    if (secretKey !== undefined) builder.secretKey([...secretKey])
    return await builder.bind()
  } catch (error) {
    throw shortened(error)
  }
}

/**
 * @param {(name: string) => Promise<any>} [load]  replaced in tests
 * @returns {Promise<Iroh>}
 * @throws {BaoError} IROH_ABSENT
 */
export async function loadIroh (load = name => import(name)) {
  try {
    const module = await load(PACKAGE)
    return module.default ?? module
  } catch (cause) {
    const message = `peers of iroh need a package that is not installed: npm install ${PACKAGE}`
    throw new BaoError('IROH_ABSENT', message, { cause })
  }
}

/**
 * Returns the address of a peer, from a ticket or from an address in any form.
 *
 * @param {string | PeerAddress | IrohAddress} peer  a ticket, or an address
 */
export function addressOf (peer) {
  if (typeof peer === 'string') return parseTicket(peer).address
  if (typeof peer === 'object' && peer !== null && 'directAddresses' in peer) return plainAddress(peer)
  return checkedAddress(/** @type {PeerAddress} */ (peer))
}

/** @param {IrohAddress} address  an address of the package */
export function plainAddress (address) {
  const relayUrl = address.relayUrl() ?? undefined
  const id = base16.baseEncode(Uint8Array.from(address.id().toBytes()))
  return checkedAddress({ id, relayUrl, addresses: address.directAddresses() })
}

/** @param {PeerAddress} address @returns {Promise<IrohAddress>} an address of the package */
export async function toIrohAddress ({ id, relayUrl, addresses }) {
  const { EndpointAddr, EndpointId } = await loadIroh()
  return new EndpointAddr(EndpointId.fromBytes([...base16.baseDecode(id)]), relayUrl, addresses)
}

/**
 * Turns an error of the package into one without the native stack trace in its message.
 *
 * @param {unknown} error
 */
export function shortened (error) {
  const message = error instanceof Error ? error.message : String(error)
  return new Error(message.split('\n', 1)[0], { cause: error })
}
