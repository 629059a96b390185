// Servers on this machine for suites that drive a browser. Each is an origin of its own.
import { createServer } from 'node:http'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { toNodeHandler } from '../../../exchange/http/node/index.js'

/**
 * @typedef {object} Host
 * @property {string} url  with a slash at its end
 * @property {string[]} requests  the paths that were asked for, in order
 * @property {() => void} close  breaks all connections
 */

/**
 * @param {(request: Request) => Response | Promise<Response>} answer
 * @param {number} [port]  default: any free one
 * @returns {Promise<Host>}
 */
export async function startHost (answer, port = 0) {
  const requests = []
  const handler = async request => {
    const { pathname } = new URL(request.url)
    requests.push(pathname)
    return answer(request)
  }
  const server = createServer(toNodeHandler(handler))
  await once(server.listen(port, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    requests,
    close () {
      server.close()
      server.closeAllConnections()
    }
  }
}

/**
 * Answers with files by their paths.
 *
 * @param {Record<string, [type: string, body: string | Uint8Array]>} files  may be changed later
 * @returns {(request: Request) => Response}
 */
export const filesAt = files => request => {
  const { pathname } = new URL(request.url)
  const [type, body] = files[pathname] ?? []
  if (body === undefined) return new Response('nothing here', { status: 404 })
  return new Response(body, { headers: { 'content-type': type, 'cache-control': 'no-cache' } })
}

/**
 * Changes the bodies of answers with a status below 300.
 *
 * @param {(request: Request) => Promise<Response>} handler
 * @param {(bytes: Uint8Array) => Uint8Array} spoil
 */
export const spoiled = (handler, spoil) => async request => {
  const response = await handler(request)
  if (!response.ok || response.body === null) return response
  const bytes = spoil(new Uint8Array(await response.arrayBuffer()))
  const headers = new Headers(response.headers)
  headers.delete('content-length')
  return new Response(bytes, { status: response.status, headers })
}

/** Asks until the answer is the wanted one. */
export async function eventually (ask, isWanted) {
  for (let count = 0; ; count++) {
    const answer = await ask()
    if (isWanted(answer)) return answer
    if (count > 8000) throw new Error(`the last answer is ${JSON.stringify(answer)}`)
    await pause(25)
  }
}
