// Opens the mirrors of `baobox fetch`, and serves a store to peers of iroh for `baobox serve`. @number0/iroh is loaded
// only for tickets and for `serve --iroh`.

import { irohMirror, openIrohEndpoint, serveIroh } from '../../../exchange/iroh/index.js'
import { isTicket } from '../../../exchange/iroh/wire/ticket.js'
import { BlobStore } from '../../../store/index.js'
import { mirrorOf } from '../../../verifier/index.js'
import { printResult } from '../../terminal/output.js'
import { cidIn } from '../store/open.js'
import { heardBy } from './mirror-log.js'
import { isUrl } from './places.js'

/** @import { Mirror } from '../../../verifier/mirrors/mirror.js' */
/** @import { OnAnswer } from './mirror-log.js' */
/** @import { MirrorPlace } from './places.js' */
/** @import { IrohEndpoint, IrohMirror, PeerRequest } from '../../../exchange/iroh/index.js' */

/** The maximum time that a server waits for a relay before it prints its tickets, in milliseconds. */
const ONLINE_TIMEOUT = 5000

/**
 * Makes mirrors of URLs, of tickets, which share one endpoint, and of the folders of stores.
 *
 * @template T
 * @param {MirrorPlace[]} from
 * @param {{ relays: boolean, onAnswer?: OnAnswer }} options  `onAnswer` hears of each answer of a server
 * @param {(from: (IrohMirror | Mirror)[]) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function withMirrors (from, { relays, onAnswer }, use) {
  const stores = /** @type {BlobStore[]} */ ([])
  const endpoint = from.some(({ place }) => isTicket(place)) ? await openIrohEndpoint({ relays }) : undefined
  try {
    const mirrors = []
    for (const { place, headers } of from) {
      if (isTicket(place)) mirrors.push(irohMirror(place, { endpoint }))
      else if (isUrl(place)) mirrors.push(mirrorOf(place, { headers, fetch: onAnswer && heardBy(place, onAnswer) }))
      else {
        const store = await BlobStore.open(place, { readOnly: true })
        stores.push(store)
        mirrors.push(mirrorOf(store, { location: place }))
      }
    }
    return await use(mirrors)
  } finally {
    for (const store of stores) await store.close()
    await endpoint?.close()
  }
}

/**
 * Serves a store to peers, and prints the tickets that were asked for.
 *
 * @param {BlobStore} store
 * @param {{ ticket?: string[], 'no-relays'?: boolean, quiet?: boolean, json?: boolean }} values
 * @param {typeof openIrohEndpoint} [open]  replaced in tests
 * @returns {Promise<{ close: (options: { grace: number }) => Promise<void> }>} after an error, the endpoint is closed
 */
export async function servePeers (store, values, open = openIrohEndpoint) {
  const { ticket: names = [], 'no-relays': noRelays = false, quiet } = values
  const cids = await Promise.all(names.map(name => cidIn(store, name)))
  const endpoint = await open({ relays: !noRelays })
  /** @param {PeerRequest} event */
  const onRequest = event => {
    const { peer, cid = '', outcome, code = '', sent, ms } = event
    const line = `iroh  ${sent}  ${ms.toFixed(1)} ms  ${outcome}  ${cid}  ${code}`
    // If the reader of the log has closed it, the server continues.
    printResult(values, { ...event, peer, error: undefined }, line.trimEnd()).catch(() => {})
  }
  const server = serveIroh(store, endpoint, quiet ? {} : { onRequest })
  const close = async (/** @type {{ grace: number }} */ options) => {
    await server.close(options)
    await endpoint.close()
  }
  try {
    if (!noRelays) await untilOnline(endpoint)
    const { id } = server.address
    await printResult(values, { iroh: server.address }, `iroh:${id}`)
    for (const [i, name] of names.entries()) {
      const ticket = server.ticket(cids[i])
      await printResult(values, { ticket, name }, `${ticket}  ${name}`)
    }
    return { close }
  } catch (error) {
    await close({ grace: 0 })
    throw error
  }
}

/** Waits until the relay of the endpoint is known, so that tickets contain it. @param {IrohEndpoint} endpoint */
async function untilOnline (endpoint) {
  /** @type {any} */
  let timer
  const timeout = new Promise(resolve => { timer = setTimeout(resolve, ONLINE_TIMEOUT) })
  try {
    await Promise.race([endpoint.online(), timeout])
  } finally {
    clearTimeout(timer)
  }
}
