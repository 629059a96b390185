// The server of the demo page: the built files, and a small interface for the switches of the hosts.

import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { createOutboardSync } from '../../encoder/index.js'
import { Failure } from '../terminal/errors.js'
import { BUILT, buildPage } from './build.js'
import { MAX_SPEED, MIN_SPEED, MODES, startHosts } from './hosts.js'

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { AddressInfo } from 'node:net' */
/** @import { Host } from './hosts.js' */

/** Nothing outside of this machine can reach the servers. Browsers trust this address with service workers. */
const ADDRESS = '127.0.0.1'
const TYPES = /** @type {Record<string, string>} */ ({
  '.html': 'text/html; charset=utf-8', '.css': 'text/css', '.js': 'text/javascript'
})
/** The page asks its own server and the hosts, and nobody else. */
const POLICY = [
  "default-src 'none'", "script-src 'self' 'wasm-unsafe-eval'", "style-src 'self'", "img-src 'self' data:",
  "media-src 'self' blob:", "worker-src 'self'", `connect-src 'self' http://${ADDRESS}:*`, "base-uri 'none'",
  "form-action 'none'", "frame-ancestors 'none'"
].join('; ')
const HEADERS = { 'content-security-policy': POLICY, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' }
const MAX_BODY = 1000

/**
 * @typedef {object} DemoServer
 * @property {string} url  of the page
 * @property {Host[]} hosts
 * @property {() => void} close
 */

/**
 * Starts the page and its three hosts. Builds the page first if the package does not have it.
 *
 * @param {{ port?: number }} [options]  default: any free port
 * @returns {Promise<DemoServer>}
 */
export async function serveDemo ({ port = 0 } = {}) {
  const page = await loadPage()
  const film = new Uint8Array(/** @type {Uint8Array} */ (page.get('film.webm')))
  const hosts = await startHosts({ film, outboard: createOutboardSync(film).bytes }, ADDRESS)
  const server = createServer((request, response) => {
    answer(request, response, { page, hosts }).catch(() => response.destroy())
  })
  const close = () => {
    for (const one of [server, ...hosts]) one.close()
    server.closeAllConnections()
  }
  try {
    server.listen(port, ADDRESS)
    await once(server, 'listening')
  } catch (error) {
    close()
    throw error
  }
  return { url: `http://${ADDRESS}:${/** @type {AddressInfo} */ (server.address()).port}/`, hosts, close }
}

/**
 * Returns the files of the page, by their names. The package contains the built page. A checkout builds it each time,
 * because it may have changed.
 *
 * @returns {Promise<Map<string, Uint8Array>>}
 */
async function loadPage () {
  const isBuilt = existsSync(BUILT) && !existsSync(new URL('../../tsconfig.json', import.meta.url))
  try {
    return isBuilt ? await readPage() : await buildPage()
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new Failure("the page is not built, and esbuild is missing: run 'npm install' first", { cause: error })
  }
}

async function readPage () {
  const names = await readdir(BUILT)
  return new Map(await Promise.all(names.map(async name =>
    /** @type {const} */ ([name, await readFile(new URL(name, BUILT))]))))
}

/**
 * @param {IncomingMessage} request @param {ServerResponse} response
 * @param {{ page: Map<string, Uint8Array>, hosts: Host[] }} served
 */
async function answer (request, response, { page, hosts }) {
  const { pathname } = new URL(request.url ?? '/', 'http://page')
  if (pathname === '/hosts') return answerHosts(request, response, hosts)
  const name = pathname === '/' ? 'index.html' : pathname.slice(1)
  const type = TYPES[/\.\w+$/.exec(name)?.[0] ?? '']
  const bytes = page.get(name)
  if (type === undefined || bytes === undefined) return response.writeHead(404, HEADERS).end()
  response.writeHead(200, { ...HEADERS, 'content-type': type }).end(bytes)
}

/**
 * `GET /hosts` gives the states of all hosts. `POST /hosts` with `{ name, mode, speed }` changes one; only the page
 * itself may do that.
 *
 * @param {IncomingMessage} request @param {ServerResponse} response @param {Host[]} hosts
 */
async function answerHosts (request, response, hosts) {
  const states = () => JSON.stringify(hosts.map(({ state }) => state))
  const ok = () => response.writeHead(200, { ...HEADERS, 'content-type': 'application/json' }).end(states())
  if (request.method === 'GET') return ok()
  const { origin, host, 'content-length': len } = request.headers
  const isOwn = request.method === 'POST' && origin === `http://${host}`
  if (!isOwn || !(Number(len) <= MAX_BODY)) return response.writeHead(403, HEADERS).end()
  const { name, mode, speed } = /** @type {any} */ (await json(request).catch(() => {})) ?? {}
  const chosen = hosts.find(one => one.name === name)
  const isGood = (mode === undefined || MODES.includes(mode)) &&
    (speed === undefined || (Number.isInteger(speed) && speed >= MIN_SPEED && speed <= MAX_SPEED))
  if (chosen === undefined || !isGood) return response.writeHead(400, HEADERS).end()
  chosen.set({ mode, speed })
  return ok()
}
