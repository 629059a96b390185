// Keeps the keys with which requests are signed, and asks for new ones when they have expired or are refused.

import { describe } from '../../lib/core/bytes.js'
import { untilAborted } from '../../lib/source/async-util.js'
import { bucketFailed } from './errors.js'

/** @import { Clock } from '../../verifier/mirrors/patience.js' */

/**
 * @typedef {object} Keys
 * @property {string} accessKeyId
 * @property {string} secretAccessKey
 * @property {string} [sessionToken]
 * @property {Date} [expiration]  until when they are valid
 */
/** @typedef {() => Keys | Promise<Keys>} CredentialsGiver */

/** How many milliseconds before their expiration new keys are asked for. */
const EARLY_MS = 60_000

export class Credentials {
  #given
  #limits
  /** @type {Promise<Keys> | undefined} */
  #asking
  /** @type {Keys | undefined} */
  #keys

  /**
   * @param {CredentialsGiver | Keys | false} given  false: none are needed
   * @param {{ location: string, stall: number, clock: Clock }} limits  how many milliseconds a function may take; where
   *   the keys are for, in errors
   */
  constructor (given, limits) {
    this.#given = given
    this.#limits = limits
    if (typeof given === 'object') this.#keys = checked(given)
  }

  /**
   * The keys for a request; undefined if it is not signed. If the function fails, the last keys serve while they are
   * valid.
   *
   * @param {AbortSignal} [signal]
   * @returns {Promise<Keys | undefined>}
   * @throws {unknown} what the function throws; BUCKET_FAILED if it does not answer in time
   */
  async get (signal) {
    if (this.#given === false) return undefined
    if (typeof this.#given === 'object' || this.#areValidFor(EARLY_MS)) return this.#keys
    try {
      return await untilAborted(this.#ask(), signal)
    } catch (error) {
      signal?.throwIfAborted()
      if (this.#areValidFor(0)) return this.#keys
      throw error
    }
  }

  /** True if there are keys that are valid for longer than so many milliseconds. @param {number} ms */
  #areValidFor (ms) {
    return this.#keys !== undefined && (this.#keys.expiration?.getTime() ?? Infinity) - ms > Date.now()
  }

  /**
   * Forgets keys that the server has refused.
   *
   * @param {Keys | undefined} keys  those of the request
   * @returns {boolean} false if there will be no others
   */
  forget (keys) {
    if (typeof this.#given !== 'function') return false
    if (this.#keys === keys) this.#keys = undefined
    return true
  }

  /** Asks for keys once for all requests that wait for them. @returns {Promise<Keys>} */
  #ask () {
    this.#asking ??= this.#new().finally(() => { this.#asking = undefined })
    return this.#asking
  }

  async #new () {
    const { location, stall, clock } = this.#limits
    const isOver = new AbortController()
    const late = clock.sleep(stall, isOver.signal).then(() => {
      throw bucketFailed(location, `the function "credentials" did not answer within ${stall} ms`)
    })
    late.catch(() => {})
    try {
      const given = /** @type {CredentialsGiver} */ (this.#given)
      this.#keys = checked(await Promise.race([given(), late]))
      return this.#keys
    } finally {
      isOver.abort()
    }
  }
}

/** @param {unknown} keys @returns {Keys} */
function checked (keys) {
  if (typeof keys !== 'object' || keys === null) {
    throw new TypeError(`"credentials" expected { accessKeyId, secretAccessKey, ... }, got ${describe(keys)}`)
  }
  const { accessKeyId, secretAccessKey, sessionToken, expiration } = /** @type {Partial<Keys>} */ (keys)
  for (const [name, value] of Object.entries({ accessKeyId, secretAccessKey })) {
    if (typeof value === 'string' && value !== '') continue
    throw new TypeError(`"${name}" expected a string, got ${describe(value)}: pass it, or set the AWS_ variables`)
  }
  if (sessionToken !== undefined && typeof sessionToken !== 'string') {
    throw new TypeError(`"sessionToken" expected a string, got ${describe(sessionToken)}`)
  }
  if (expiration !== undefined && !(expiration instanceof Date && !Number.isNaN(expiration.getTime()))) {
    throw new TypeError(`"expiration" expected a Date, got ${describe(expiration)}`)
  }
  return /** @type {Keys} */ ({ accessKeyId, secretAccessKey, sessionToken, expiration })
}
