// Lets other processes of this machine use a store that this process has open. It listens on a port of 127.0.0.1 for
// calls with the token, which is in a file of the store.

import { createServer } from 'node:http'
import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { areEqual } from '../../../lib/core/bytes.js'
import { BaoError } from '../../../lib/core/errors.js'
import { hash } from '../../../lib/hash/hasher.js'
import { listenOn } from '../../../exchange/http/node/listen.js'
import { Failure, messageOf } from '../../terminal/errors.js'
import { leaveAddress, removeAddress } from './address.js'
import { CALLS } from './calls.js'
import { decode, encode, proofOf } from './messages.js'

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { BlobStore } from '../../../store/blob-store.js' */
/** @import { Helpers } from './calls.js' */

const HOST = '127.0.0.1'
/** The maximum number of bytes that wait for a command that has stopped reading. */
const MAX_UNREAD_LEN = 1 << 24
const LIMITS = { maxHeaderSize: 1 << 15, headersTimeout: 10_000, requestTimeout: 0 }

/**
 * @param {BlobStore} store @param {string} location @param {Helpers} helpers
 * @returns {Promise<{ close: () => Promise<void> }>} `close` ends the calls that are under way
 */
export async function listenForCalls (store, location, helpers) {
  const token = randomBytes(32).toString('hex')
  const server = createServer(LIMITS, (request, response) => {
    answer({ store, token, helpers }, request, response).catch(() => response.destroy())
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
 * Answers with a line for each event, and one for the result or the error.
 *
 * @param {{ store: BlobStore, token: string, helpers: Helpers }} owner
 * @param {IncomingMessage} request @param {ServerResponse} response
 */
async function answer ({ store, token, helpers }, request, response) {
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
  // If the call stops reading the body early, the connection must stay open for the answer.
  const body = request.iterator({ destroyOnReturn: false })
  const tell = (/** @type {string} */ event, /** @type {unknown} */ value) => {
    response.write(`${encode({ event, value })}\n`)
    if (response.writableLength > MAX_UNREAD_LEN) response.destroy()
  }
  try {
    const args = decode(searchParams.get('args') ?? await text(body))
    const result = await CALLS[name](store, args, { ...helpers, body, signal: gone.signal, tell })
    response.end(`${encode({ result })}\n`)
  } catch (error) {
    response.end(`${encode({ error: toldAs(error) })}\n`)
  }
  request.resume() // drops the rest of the body if the call has stopped reading
}

/** An error as plain data: its message and its code. A `Failure` has the code of its cause. @param {unknown} error */
function toldAs (error) {
  if (!(error instanceof Error)) return { message: String(error) }
  const isFailure = error instanceof Failure
  const coded = isFailure ? error.cause : error
  return { message: messageOf(error), isFailure, ...coded instanceof BaoError && { code: coded.code } }
}
