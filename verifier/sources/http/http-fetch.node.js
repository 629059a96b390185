// A `fetch` that is made of node:http and node:https, for what this package requests: see decision 0045.

import http from 'node:http'
import https from 'node:https'

/** Ports that `fetch` refuses, from 1024 on: see "port blocking" in the Fetch standard. */
const BAD_PORTS = [
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080
]
/** Milliseconds within which the head of an answer must come, and each next piece: as `fetch` of Node.js has it. */
const MAX_WAIT = 300_000

/**
 * Requests a URL by GET, as `fetch` does with `redirect: 'manual'`. The answer has those properties of a `Response`
 * that this package uses. Where that is not enough, `fetch` is called.
 *
 * @type {(url: string | URL, init?: RequestInit) => Promise<Response>}
 */
export async function httpFetch (url, init = {}) {
  const target = new URL(String(url))
  if (init.redirect !== 'manual' || isRefused(target)) return globalThis.fetch(url, init)
  const headers = new Headers({ accept: '*/*', 'user-agent': 'node' })
  for (const [name, value] of new Headers(init.headers)) headers.set(name, value)
  const { request } = target.protocol === 'https:' ? https : http
  const response = await answerTo(() => request(target, { headers: Object.fromEntries(headers) }), init.signal)
  if ((response.headers.get('content-encoding') ?? 'identity') === 'identity') return response
  response.body?.cancel()
  return globalThis.fetch(url, init)
}

/** True for URLs that `fetch` may refuse. @param {URL} url */
function isRefused ({ username, password, port }) {
  const isUsual = port === '' || port === '80' || port === '443'
  return username + password !== '' || (!isUsual && (Number(port) < 1024 || BAD_PORTS.includes(Number(port))))
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
    const timer = setTimeout(() => request.destroy(tooLate()), MAX_WAIT)
    request.on('response', message => {
      clearTimeout(timer)
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
    request.on('close', () => {
      clearTimeout(timer)
      release()
      reject(new Error('the connection was closed without an answer')) // for example, because it was upgraded
    })
    if (signal?.aborted) onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    request.end()
  })
}

const tooLate = () => new Error(`the server has sent nothing for ${MAX_WAIT / 1000} s`)

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
    const timer = setTimeout(() => message.destroy(tooLate()), MAX_WAIT)
    const next = await pieces.next().finally(() => clearTimeout(timer))
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
