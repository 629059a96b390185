// Lets other processes of this machine use a store that this one has open: listens on a port of 127.0.0.1 for calls of
// those that know the token, which is in a file of the store.

import { createServer } from 'node:http'
import { randomBytes } from 'node:crypto'
import { areEqual } from '../../../lib/core/bytes.js'
import { BaoError } from '../../../lib/core/errors.js'
import { hash } from '../../../lib/hash/hasher.js'
import { listenOn } from '../../../store/exchange/http/node/listen.js'
import { leaveAddress, removeAddress } from './address.js'
import { CALLS } from './calls.js'
import { decode, encode, proofOf } from './messages.js'

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { BlobStore } from '../../../store/blob-store.js' */
/** @import { How } from './calls.js' */

const HOST = '127.0.0.1'
const LIMITS = { maxHeaderSize: 1 << 15, headersTimeout: 10_000, requestTimeout: 0 }

/**
 * @param {BlobStore} store @param {string} location @param {How['rootIn']} rootIn
 * @returns {Promise<{ close: () => Promise<void> }>} `close` ends the calls that are under way
 */
export async function listenForCalls (store, location, rootIn) {
  const token = randomBytes(32).toString('hex')
  const server = createServer(LIMITS, (request, response) => {
    answer({ store, token, rootIn }, request, response).catch(() => response.destroy())
  })
  const url = await listenOn(server, 0, HOST)
  const close = async () => {
    await removeAddress(location)
    const closed = new Promise(resolve => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
  try {
    await leaveAddress(location, { port: Number(new URL(url).port), token, pid: process.pid })
  } catch (error) {
    await close()
    throw error
  }
  return { close }
}

/**
 * @param {{ store: BlobStore, token: string, rootIn: How['rootIn'] }} owner
 * @param {IncomingMessage} request @param {ServerResponse} response
 */
async function answer ({ store, token, rootIn }, request, response) {
  const { pathname, searchParams } = new URL(`http://${HOST}${request.url}`)
  if (request.method === 'GET' && pathname === '/') {
    return response.end(proofOf(token, searchParams.get('nonce') ?? ''))
  }
  const given = hash(Buffer.from(request.headers.authorization ?? ''))
  if (!areEqual(given, 0, hash(Buffer.from(`Bearer ${token}`)))) return response.writeHead(401).end()
  const name = pathname.slice(1)
  if (request.method !== 'POST' || !Object.hasOwn(CALLS, name)) return response.writeHead(404).end()

  const gone = new AbortController()
  response.once('close', () => gone.abort())
  // An early end must leave the connection open, for the answer.
  const body = request.iterator({ destroyOnReturn: false })
  try {
    const args = decode(searchParams.get('args') ?? '')
    response.end(encode(await CALLS[name](store, args, { body, signal: gone.signal, rootIn })))
  } catch (error) {
    response.writeHead(500).end(encode(toldAs(error)))
  }
  request.resume() // what comes behind an early end is not wanted
}

/** An error as text: its code, its message, and the reason that the system gave. @param {unknown} error */
function toldAs (error) {
  if (!(error instanceof Error)) return { message: String(error) }
  let reason = ''
  for (let { cause } = error; cause instanceof Error; cause = cause.cause) {
    if (!(cause instanceof BaoError)) reason = `: ${cause.message}`
  }
  return { message: error.message + reason, ...error instanceof BaoError && { code: error.code } }
}
