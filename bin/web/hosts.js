// The three hosts of the film: servers of one file, each on a port of its own. They are the only pretence of the demo:
// they send slowly, and lie, stall or die when the page asks for that. The page and its service worker treat them as
// they treat any server, and are not told who lies.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { AddressInfo } from 'node:net' */

/** What a host can do. @typedef {'honest' | 'lies' | 'stalls' | 'dead'} Mode */
/**
 * @typedef {object} HostState
 * @property {string} name  a letter
 * @property {string} url  of the film. Its outboard is beside it, with `.obao4` after the name
 * @property {Mode} mode
 * @property {number} speed  bytes per second of one answer
 * @property {number} [lastLie]  the byte that the host has changed last
 */

/** @type {Mode[]} */
export const MODES = ['honest', 'lies', 'stalls', 'dead']
export const [MIN_SPEED, MAX_SPEED] = [1 << 12, 1 << 27]
/** Twice as fast as the film plays. */
const DEFAULT_SPEED = 40_000
const PIECE_LEN = 1 << 11
/** A host that lies changes one bit in this many bytes, so that every other piece of 16 KiB is right. */
const LIE_EVERY = 1 << 15
/** The longest time between two pieces, in milliseconds: after it, a changed speed has an effect. */
const MAX_PAUSE = 500
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': 'range',
  'access-control-expose-headers': 'accept-ranges, content-length, content-range'
}

/** One server with the film and its outboard. */
export class Host {
  #files
  #server
  /** Called when the mode changes, by the answers that have stalled. @type {Set<() => void>} */
  #waiting = new Set()
  /** @type {Mode} */
  mode = 'honest'
  speed = DEFAULT_SPEED
  /** @type {number | undefined} */
  lastLie
  url = ''

  /** @param {string} name @param {{ film: Uint8Array, outboard: Uint8Array }} files */
  constructor (name, { film, outboard }) {
    this.name = name
    this.#files = new Map([['/film.webm', film], ['/film.webm.obao4', outboard]])
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy())
    })
  }

  /** @param {string} address */
  async listen (address) {
    this.#server.listen(0, address)
    await once(this.#server, 'listening')
    const { port } = /** @type {AddressInfo} */ (this.#server.address())
    this.url = `http://${address}:${port}/film.webm`
  }

  /** @returns {HostState} */
  get state () {
    const { name, url, mode, speed, lastLie } = this
    return { name, url, mode, speed, ...lastLie !== undefined && { lastLie } }
  }

  /** @param {{ mode?: Mode, speed?: number }} change */
  set ({ mode = this.mode, speed = this.speed }) {
    Object.assign(this, { mode, speed })
    for (const wake of this.#waiting) wake()
    if (mode === 'dead') this.#server.closeAllConnections()
  }

  close () {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  /** @param {IncomingMessage} request @param {ServerResponse} response */
  async #answer (request, response) {
    if (this.mode === 'dead') return response.destroy()
    const bytes = this.#files.get(new URL(request.url ?? '/', 'http://host').pathname)
    if (request.method === 'OPTIONS') return response.writeHead(204, CORS).end()
    if (bytes === undefined) return response.writeHead(404, CORS).end()
    const range = rangeOf(request.headers.range, bytes.length)
    if (range === undefined) {
      return response.writeHead(416, { ...CORS, 'content-range': `bytes */${bytes.length}` }).end()
    }
    const { start, end } = range
    response.writeHead(request.headers.range === undefined ? 200 : 206, {
      ...CORS,
      'content-type': 'application/octet-stream',
      'accept-ranges': 'bytes',
      'content-length': end - start,
      ...request.headers.range !== undefined && { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` }
    })
    if (request.method === 'HEAD') return response.end()
    response.flushHeaders()
    await this.#send(response, bytes, range)
  }

  /**
   * @param {ServerResponse} response @param {Uint8Array} bytes @param {{ start: number, end: number }} range
   */
  async #send (response, bytes, { start, end }) {
    const isFilm = bytes === this.#files.get('/film.webm')
    const gone = new Promise(resolve => response.once('close', resolve))
    for (let at = start; at < end && !response.destroyed; at += PIECE_LEN) {
      while (this.mode === 'stalls' && !response.destroyed) await Promise.race([gone, this.#changed()])
      const piece = bytes.slice(at, Math.min(at + PIECE_LEN, end))
      if (isFilm && this.mode === 'lies') this.#lie(piece, at)
      response.write(piece)
      if (isFilm) await pause(Math.min(piece.length / this.speed * 1000, MAX_PAUSE))
    }
    response.end()
  }

  /** @param {Uint8Array} piece @param {number} offset  of the piece in the film */
  #lie (piece, offset) {
    const first = Math.floor(offset / LIE_EVERY) * LIE_EVERY + LIE_EVERY * 3 / 4
    if (first < offset || first >= offset + piece.length) return
    piece[first - offset] ^= 1
    this.lastLie = first
  }

  #changed () {
    return new Promise(resolve => {
      const wake = () => {
        this.#waiting.delete(wake)
        resolve(undefined)
      }
      this.#waiting.add(wake)
    })
  }
}

/**
 * Starts the hosts A, B and C.
 *
 * @param {{ film: Uint8Array, outboard: Uint8Array }} files @param {string} address  of this machine
 * @returns {Promise<Host[]>}
 */
export async function startHosts (files, address) {
  const hosts = ['A', 'B', 'C'].map(name => new Host(name, files))
  try {
    await Promise.all(hosts.map(host => host.listen(address)))
    return hosts
  } catch (error) {
    for (const host of hosts) host.close()
    throw error
  }
}

/**
 * The bytes that a `Range` header asks for; all bytes for headers that name several ranges or another unit.
 *
 * @param {string | undefined} header @param {number} size
 * @returns {{ start: number, end: number } | undefined} undefined if the range begins after the end
 */
function rangeOf (header, size) {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? []
  if (!first && !last) return { start: 0, end: size }
  const start = first ? Number(first) : Math.max(0, size - Number(last))
  const end = first && last ? Math.min(Number(last) + 1, size) : size
  return start < end ? { start, end } : undefined
}
