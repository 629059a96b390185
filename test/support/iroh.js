// Endpoints of @number0/iroh on the loopback address, without relays; and peers that break the protocol.
import { loadIroh } from '../../exchange/iroh/endpoint.js'
import { IROH_ALPN, openIrohEndpoint } from '../../exchange/iroh/index.js'

const ALPN = [...new TextEncoder().encode(IROH_ALPN)]

/** Why there are no endpoints here; undefined if there are. @type {string | undefined} */
export const absence = await loadIroh().then(() => undefined, error => `${error.message} (${error.cause?.message})`)

const endpoints = []

export async function openEndpoint () {
  const endpoint = await openIrohEndpoint({ relays: false, bindAddress: '127.0.0.1:0' })
  endpoints.push(endpoint)
  return endpoint
}

export const closeEndpoints = () => Promise.all(endpoints.splice(0).map(endpoint => endpoint.close()))

/** Opens a connection without baobox. */
export const connect = (from, to) => from.connect(to.addr(), ALPN)

/** Sends bytes as a request. @returns the receiving half of the stream */
export async function ask (connection, bytes) {
  const { send, recv } = await connection.openBi()
  await send.writeAll([...bytes])
  await send.finish()
  return recv
}

/** Makes an endpoint handle each stream with a function, which gets its two halves, the connection and a number. */
export async function answerBy (endpoint, answer) {
  for (let incoming; (incoming = await endpoint.acceptNext()) !== null;) {
    const connection = await (await incoming.accept()).connect()
    const serve = async () => {
      for (let i = 0; ; i++) {
        const { send, recv } = await connection.acceptBi()
        answer(send, recv, connection, i).catch(() => {}) // The peer may have left.
      }
    }
    serve().catch(() => {})
  }
}
