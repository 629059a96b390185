// The `fetch` that requests use where the caller gives none. In Node.js it is made of node:http, because the `fetch` of
// Node.js takes nearly twice the processor time. Docs: decision 0045.

import http from 'node:http'
import https from 'node:https'

/** Where Node.js and the package undici keep the dispatchers to which `fetch` gives its requests. */
const PLACES = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')]
/** The classes of the dispatchers that Node.js uses if nothing is configured. */
const PLAIN_CLASSES = ['Agent', 'Dispatcher1Wrapper']
/** Where Node.js has its own copy of undici. The package undici has classes of the same names. */
const OWN_CODE = 'internal/deps/undici'

/**
 * Returns a function for requests: `httpFetch`, or the `fetch` of the runtime if that is not the one of Node.js, or if
 * its dispatcher was configured, for example for a proxy.
 *
 * @returns {typeof globalThis.fetch}
 */
export function defaultFetch () {
  const { fetch } = globalThis
  if (!Function.prototype.toString.call(fetch).includes(OWN_CODE)) return fetch
  const dispatchers = PLACES.flatMap(place => /** @type {any} */ (globalThis)[place] ?? [])
  return dispatchers.every(isPlain) ? httpFetch : fetch
}

/** True if Node.js has made a dispatcher by itself. @param {{ constructor: any }} dispatcher */
function isPlain ({ constructor: Dispatcher }) {
  if (!PLAIN_CLASSES.includes(Dispatcher.name)) return false
  try {
    return new Dispatcher({ factory: null }) === undefined
  } catch (error) {
    return String(/** @type {Error} */ (error).stack).includes(OWN_CODE) // its constructor is in the code of Node.js
  }
}

/**
 * Requests a URL by GET, as `fetch` does with `redirect: 'manual'`. The answer has those properties of a `Response`
 * that this package uses. Where that is not enough, `fetch` is called.
 *
 * @type {(url: string | URL | Request, init?: RequestInit) => Promise<Response>}
 */
export async function httpFetch (url, init = {}) {
  const target = new URL(String(url))
  if (init.redirect !== 'manual' || target.username + target.password !== '') return globalThis.fetch(url, init)
  const headers = new Headers({ accept: '*/*', 'user-agent': 'node' })
  for (const [name, value] of new Headers(init.headers)) headers.set(name, value)
  const { request } = target.protocol === 'https:' ? https : http
  const response = await answerTo(() => request(target, { headers: Object.fromEntries(headers) }), init.signal)
  if ((response.headers.get('content-encoding') ?? 'identity') === 'identity') return response
  response.body?.cancel()
  return globalThis.fetch(url, init)
}

/**
 * Sends a request, and waits for the head of its answer.
 *
 * @param {() => http.ClientRequest} send @param {AbortSignal | null} [signal]  ends the reading of the body, too
 * @returns {Promise<Response>}
 */
function answerTo (send, signal) {
  return new Promise((resolve, reject) => {
    const request = send()
    let isAnswered = false
    // Without the signal's reason: Node.js may emit it on a socket that nothing listens to, which ends the process.
    const onAbort = () => { request.destroy() }
    const release = () => signal?.removeEventListener('abort', onAbort)
    request.on('response', message => {
      isAnswered = true
      message.on('end', release)
      message.on('error', () => {}) // the reader of the body gets it
      resolve(responseOf(message, release))
    })
    request.on('error', error => {
      // A server may close a connection that was kept for the next request just when this request is sent.
      const isStale = 'code' in error && error.code === 'ECONNRESET' && request.reusedSocket && !isAnswered
      if (isStale && !signal?.aborted) resolve(answerTo(send, signal))
      else reject(error)
    })
    request.on('close', release)
    if (signal?.aborted) onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    request.end()
  })
}

/**
 * @param {http.IncomingMessage} message @param {() => void} release  called when the connection is used for another
 *   request
 * @returns {Response}
 */
function responseOf (message, release) {
  const headers = new Headers()
  const { rawHeaders, statusCode: status } = message
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i], rawHeaders[i + 1])
  const pieces = message[Symbol.asyncIterator]()
  const read = async () => {
    const next = await pieces.next()
    // A caller may not read on after the last piece, so the connection is free for its next request before it has that.
    if (message.complete && message.readableLength === 0) await endOf(message)
    return next
  }
  const cancel = async () => {
    if (!message.complete) return message.destroy()
    release()
    while (message.read() !== null);
  }
  const body = { getReader: () => ({ read, cancel }), cancel }
  return /** @type {any} */ ({ status, headers, body, type: 'basic', redirected: false, bodyUsed: false })
}

/** Waits for the end of a message whose bytes have all been read. @param {http.IncomingMessage} message */
async function endOf (message) {
  if (message.readableEnded || message.destroyed) return
  const ended = new Promise(resolve => message.once('end', resolve).once('close', resolve))
  message.read(0)
  await ended
}
