// Which pages of other origins may read answers, and whose writes are those of their user.
// Sources: Fetch standard, "CORS protocol"; RFC 9110.

import { assertBoolean, assertOptions, describe } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { HttpError } from './errors.js'

/** @import { ServedRequest } from './served-request.js' */

/**
 * @typedef {object} CorsRules
 * @property {'*' | string[]} [origins]  whose pages may read answers: `*` for all, or a list like
 *   `['https://app.example']`. Default: `*`
 * @property {boolean} [credentials]  true lets these pages send what their user's browser keeps for this server, such
 *   as cookies. Needs a list. Default: false
 */

const ALWAYS = { 'x-content-type-options': 'nosniff' }
const EXPOSED = {
  'access-control-expose-headers': 'Accept-Ranges, Content-Length, Content-Range, ETag, Link, Location'
}
const ALL = {
  'access-control-allow-origin': '*', ...EXPOSED, 'cross-origin-resource-policy': 'cross-origin', ...ALWAYS
}
/** Answers that depend on the origin are no images or scripts of other pages: those ask without CORS. */
const SOME = { vary: 'Origin', 'cross-origin-resource-policy': 'same-origin', ...ALWAYS }

/** The rules of one handler. */
export class Cors {
  /** Undefined for all. @type {Set<string> | undefined} */
  #origins
  #credentials

  /** @param {CorsRules} rules @throws {TypeError} */
  constructor (rules) {
    assertOptions('cors', rules, '{ origins, credentials }')
    assertKnownOptions(rules, ['origins', 'credentials'])
    const { origins = '*', credentials = false } = rules
    if (origins !== '*' && (!Array.isArray(origins) || !origins.every(isOrigin))) {
      const given = describe(origins)
      throw new TypeError(`"cors.origins" expected '*' or origins like ['https://app.example'], got ${given}`)
    }
    assertBoolean('cors.credentials', credentials)
    if (credentials && origins === '*') throw new TypeError('"cors.credentials" needs a list of "cors.origins"')
    this.#origins = origins === '*' ? undefined : new Set(origins)
    this.#credentials = credentials
  }

  /** Headers of every answer to a request. @param {Request} request @returns {Record<string, string>} */
  headersFor ({ headers }) {
    if (this.#origins === undefined) return ALL
    const origin = headers.get('origin')
    if (origin === null || !this.#origins.has(origin)) return SOME
    const more = this.#credentials && { 'access-control-allow-credentials': 'true' }
    return { 'access-control-allow-origin': origin, ...EXPOSED, ...SOME, ...more }
  }

  /**
   * Refuses a write that a page of another origin makes a browser send, perhaps with the cookies of its user, or with a
   * password that the browser remembers (`Authorization: Basic`). A browser sends a bearer token only if the page knows
   * it, and asks the server first.
   *
   * @param {ServedRequest} served
   * @throws {HttpError} 403
   */
  assertNotForged ({ request: { headers }, url }) {
    const origin = headers.get('origin')
    const hasToken = /^bearer /i.test(headers.get('authorization') ?? '')
    if (origin === null || hasToken || this.#origins?.has(origin)) return
    if (URL.canParse(origin) && new URL(origin).host === url.host) return
    throw new HttpError(403, 'HTTP_FORBIDDEN', `pages of ${origin} may write here only with a bearer token`)
  }
}

/** @param {unknown} origin */
const isOrigin = origin => typeof origin === 'string' && URL.canParse(origin) && new URL(origin).origin === origin
