// Keeps the keys with which requests are signed, and asks for new ones when they have expired or are refused.

import { describe } from '../../lib/core/bytes.js'
import { untilAborted } from '../../lib/source/async-util.js'

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
  /** @type {Promise<Keys> | undefined} */
  #asking
  /** @type {Keys | undefined} */
  #keys

  /** @param {CredentialsGiver | Keys | false} given  false: none are needed */
  constructor (given) {
    this.#given = given
    if (typeof given === 'object') this.#keys = checked(given)
  }

  /**
   * The keys for a request; undefined if it is not signed.
   *
   * @param {AbortSignal} [signal]
   * @returns {Promise<Keys | undefined>}
   */
  async get (signal) {
    if (this.#given === false) return undefined
    const { expiration } = this.#keys ?? {}
    const isDue = expiration !== undefined && expiration.getTime() - EARLY_MS <= Date.now()
    if (this.#keys !== undefined && !(isDue && typeof this.#given === 'function')) return this.#keys
    return untilAborted(this.#ask(), signal)
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
    this.#keys = checked(await /** @type {CredentialsGiver} */ (this.#given)())
    return this.#keys
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
  if (expiration !== undefined && !(expiration instanceof Date)) {
    throw new TypeError(`"expiration" expected a Date, got ${describe(expiration)}`)
  }
  return /** @type {Keys} */ ({ accessKeyId, secretAccessKey, sessionToken, expiration })
}
