// Endpoints of @number0/iroh on the loopback address, which know no relay; and peers that do not what they should.
import { loadIroh } from '../../exchange/iroh/endpoint.js'
import { IROH_ALPN, openIrohEndpoint } from '../../exchange/iroh/index.js'

const ALPN = [...new TextEncoder().encode(IROH_ALPN)]

/** Why there are no endpoints here, if there are none. @type {string | undefined} */
export const absence = await loadIroh().then(() => undefined, error => `${error.message} (${error.cause?.message})`)

const endpoints = []

export async function openEndpoint () {
  const endpoint = await openIrohEndpoint({ relays: false, bindAddress: '127.0.0.1:0' })
  endpoints.push(endpoint)
  return endpoint
}

export const closeEndpoints = () => Promise.all(endpoints.splice(0).map(endpoint => endpoint.close()))

/** Opens a connection by hand. */
export const connect = (from, to) => from.connect(to.addr(), ALPN)

/** Sends bytes as a request. @returns the receiving half of the stream */
export async function ask (connection, bytes) {
  const { send, recv } = await connection.openBi()
  await send.writeAll([...bytes])
  await send.finish()
  return recv
}

/** Has an endpoint handle each stream by a function of its two halves and its number. */
export async function answerBy (endpoint, answer) {
  for (let incoming; (incoming = await endpoint.acceptNext()) !== null;) {
    const connection = await (await incoming.accept()).connect()
    const serve = async () => {
      for (let i = 0; ; i++) {
        const { send, recv } = await connection.acceptBi()
        answer(send, recv, connection, i).catch(() => {}) // the other side may have gone
      }
    }
    serve().catch(() => {})
  }
}
