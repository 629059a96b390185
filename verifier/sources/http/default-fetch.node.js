// The `fetch` that requests use where the caller gives none. In Node.js it is made of node:http, because the `fetch` of
// Node.js takes nearly twice the processor time. Docs: decision 0045.

import { httpFetch } from './http-fetch.node.js'

/** Where Node.js and the package undici keep the dispatchers to which `fetch` gives its requests. */
const PLACES = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')]
/** The classes of the dispatchers that Node.js uses if nothing is configured. */
const PLAIN_CLASSES = ['Agent', 'Dispatcher1Wrapper']
/** Where Node.js has its own copy of undici. The package undici has classes of the same names. */
const OWN_CODE = 'internal/deps/undici'
/** The names of the symbols under which an Agent has its settings. */
const SETTINGS = ['options', 'factory']

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
  return dispatchers.every(isPlain) ? /** @type {typeof globalThis.fetch} */ (httpFetch) : fetch
}

/**
 * True if a dispatcher is one that Node.js makes by itself, with its own settings.
 *
 * @param {{ constructor: any, dispatch?: unknown }} dispatcher
 */
function isPlain (dispatcher) {
  const { constructor: Dispatcher, dispatch } = dispatcher
  if (!PLAIN_CLASSES.includes(Dispatcher.name) || dispatch !== Dispatcher.prototype.dispatch) return false
  try {
    return new Dispatcher({ factory: null }) === undefined
  } catch (error) {
    // The code of the constructor is in the stack of its error.
    if (!String(/** @type {Error} */ (error).stack).includes(OWN_CODE)) return false
    return Dispatcher.name !== 'Agent' || settingsOf(dispatcher) === settingsOf(new Dispatcher())
  }
}

/** @param {any} agent @returns {string} */
function settingsOf (agent) {
  const places = Object.getOwnPropertySymbols(agent).filter(({ description }) => SETTINGS.includes(`${description}`))
  const textOf = (/** @type {string} */ _, /** @type {unknown} */ value) =>
    typeof value === 'function' ? `${value}` : value
  return JSON.stringify(places.map(place => agent[place]), textOf)
}
