// What servers have shown, so that the next request to one begins with what has worked. A server may answer other
// credentials in another way, and may change.

import { LruCache } from '../../../lib/core/lru.js'
import { hash } from '../../../lib/hash/hasher.js'
import { systemClock } from '../patience.js'

/** @import { Clock } from '../patience.js' */
/** @import { HttpOptions } from '../../sources/http/options.js' */

/** Servers that are remembered, at most, and milliseconds after which what they have shown is forgotten. */
const MAX_SERVERS = 1000
const MAX_AGE = 10 * 60_000

/** @template V */
class Notes {
  #notes = /** @type {LruCache<string, { value: V, since: number }>} */ (new LruCache(MAX_SERVERS))
  #clock

  /** @param {Pick<Clock, 'now'>} clock */
  constructor (clock) {
    this.#clock = clock
  }

  /** @param {string} server @returns {V | undefined} */
  get (server) {
    const note = this.#notes.get(server)
    return note === undefined || this.#clock.now() - note.since > MAX_AGE ? undefined : note.value
  }

  /** @param {string} server @param {V} value */
  set (server, value) { this.#notes.set(server, { value, since: this.#clock.now() }) }
}

export class KnownServers {
  /** How they had their blobs. @type {Notes<'bao' | 'plain'>} */
  ways
  /** Those that do not give many members at once. @type {Notes<true>} */
  withoutMembers

  /** @param {Pick<Clock, 'now'>} [clock] */
  constructor (clock = systemClock) {
    this.ways = new Notes(clock)
    this.withoutMembers = new Notes(clock)
  }
}

/**
 * The name under which a server is known. It does not contain the headers, which may be secrets.
 *
 * @param {URL} url @param {HttpOptions} http
 */
export function serverOf ({ origin }, { headers }) {
  const given = JSON.stringify([...new Headers(headers)])
  return `${origin} ${hash(new TextEncoder().encode(given))}`
}
