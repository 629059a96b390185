// A store with an HTTP handler, which tests call without a network.
import { createHandler } from '../../../exchange/http/index.js'
import { newStores } from './stores.js'

/** The origin for `ask`. The name does not need to resolve. */
const ORIGIN = 'http://store.test'

/** Makes a handler over a store in memory for each test. @returns {(options?: object) => Promise<Served>} */
export function newHandlers () {
  const newStore = newStores()
  return async options => {
    const { store, index, data } = await newStore()
    return new Served(store, options, { index, data })
  }
}

export class Served {
  /** The events that `onRequest` got, in order. */
  events = []

  constructor (store, options, databases) {
    Object.assign(this, { store, ...databases })
    this.handler = createHandler(store, { ...options, onRequest: event => this.events.push(event) })
  }

  /** @param {string} path @param {RequestInit} [init] */
  ask (path, init) { return this.handler(new Request(ORIGIN + path, init)) }

  /** The same, with headers only. @param {string} path @param {Record<string, string>} headers */
  askWith (path, headers) { return this.ask(path, { headers }) }

  /** Asks with headers that no page can set, so that a Request of a browser does not take them. */
  askWithAny (path, init, headers) {
    const all = new Headers({ ...init?.headers, ...headers })
    return this.handler(Object.defineProperty(new Request(ORIGIN + path, init), 'headers', { value: all }))
  }

  /** Returns the status, headers and bytes of an answer. @param {string} path @param {RequestInit} [init] */
  async got (path, init) {
    const response = await this.ask(path, init)
    const bytes = new Uint8Array(await response.arrayBuffer())
    return { status: response.status, headers: response.headers, bytes, json: () => JSON.parse(textOf(bytes)) }
  }

  /** Puts a blob, and returns its names. @param {Uint8Array} bytes */
  async put (bytes) {
    const { cid } = await this.store.put(bytes)
    return { cid, hex: hexOf(cid.multihash.digest) }
  }
}

const textOf = bytes => new TextDecoder().decode(bytes)

export const hexOf = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
