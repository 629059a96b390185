// Remembers how servers have answered, so that the next request to a server begins with the way that has worked. A
// server with other headers counts as another server, because it may answer other credentials differently. Notes
// expire, because servers change.

import { LruCache } from '../../../lib/core/lru.js'
import { hash } from '../../../lib/hash/hasher.js'
import { systemClock } from '../patience.js'

/** @import { Clock } from '../patience.js' */
/** @import { HttpOptions } from '../../sources/http/options.js' */

/** The maximum number of remembered servers, and the milliseconds after which a note about a server expires. */
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
  /** How each server gives its blobs: as a Bao endpoint, or as plain files. @type {Notes<'bao' | 'plain'>} */
  ways
  /** The servers that do not give many members in one answer. @type {Notes<true>} */
  withoutMembers
  /** The servers that name plain forms of blobs (`hasPlainLink`), which could not be read. @type {Notes<true>} */
  withoutPlain

  /** @param {Pick<Clock, 'now'>} [clock] */
  constructor (clock = systemClock) {
    this.ways = new Notes(clock)
    this.withoutMembers = new Notes(clock)
    this.withoutPlain = new Notes(clock)
  }
}

/**
 * The name under which a server is remembered. It has a hash of the headers instead of the headers, because they may be
 * secret.
 *
 * @param {URL} url @param {HttpOptions} http
 */
export function serverOf ({ origin }, { headers }) {
  const given = JSON.stringify([...new Headers(headers)])
  return `${origin} ${hash(new TextEncoder().encode(given))}`
}
