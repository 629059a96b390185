// Asks the caller's `authorize` whether a request may do what it is about to do.

import { areEqual } from '../../lib/core/bytes.js'
import { hash } from '../../lib/hash/hasher.js'
import { HttpError } from './errors.js'

/** @import { ServedRequest } from './served-request.js' */

/**
 * @typedef {object} Action  what a request is about to do
 * @property {'read' | 'list' | 'put' | 'delete' | 'tag'} type  `read`: get the bytes of a blob, or learn which blob a
 *   tag names. `list`: learn the names of all blobs or tags. `put`: add a blob. `delete`: delete one. `tag`: set or
 *   delete a tag
 * @property {string} [cid]  of the blob. Undefined when no blob has the name that the client gave, for an upload that
 *   the server hashes, and when a tag is deleted. For a new tag of an alias it is the CID of the alias
 * @property {string} [collection]  CID of the collection, manifest or hash sequence through which a member is read.
 *   Whoever may put can make one with any members
 * @property {string} [tag]  the name, where the client gave one
 */
/**
 * @callback Authorize
 * @param {Request} request  whose body is not read
 * @param {Action} action
 * @returns {boolean | Response | Promise<boolean | Response>} true allows it; false is a 403; a Response, a new one
 *   each time, is the answer, such as a 401 with `WWW-Authenticate`
 */

const WRITES = ['put', 'delete', 'tag']
const VERBS = {
  read: 'read this', list: 'list what is here', put: 'put blobs here', delete: 'delete this', tag: 'change this tag'
}
/** Functions that let everybody read, so that caches may keep answers for everybody. */
const openForReading = /** @type {WeakSet<Authorize>} */ (new WeakSet())

/** The answer that `authorize` has given in place of true. */
export class Refusal extends Error {
  /** @param {Response} response */
  constructor (response) {
    super(`authorize has answered with ${response.status}`)
    this.response = response
    this.code = response.status === 401 ? 'HTTP_UNAUTHORIZED' : 'HTTP_FORBIDDEN'
  }
}

/**
 * Makes an `authorize` that lets everybody read, and those write who send `Authorization: Bearer TOKEN`.
 *
 * @param {string} token  visible ASCII characters
 * @param {('put' | 'delete' | 'tag')[]} [types]  what the token allows. Default: `['put']`
 * @returns {Authorize} which answers another token, or none, with 401
 */
export function bearer (token, types = ['put']) {
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) {
    throw new TypeError('"token" expected a text of visible ASCII characters')
  }
  if (!Array.isArray(types) || !types.every(type => WRITES.includes(type))) {
    throw new TypeError(`"types" expected some of ${WRITES.join(', ')}`)
  }
  const expected = hashOf(token)
  const allowed = new Set(/** @type {string[]} */ (types))
  /** @type {Authorize} */
  const authorize = ({ headers }, { type }) => {
    if (!WRITES.includes(type)) return true
    const [, given] = /^Bearer +([\x21-\x7e]+) *$/i.exec(headers.get('authorization') ?? '') ?? []
    // Compares hashes, so that the time tells nothing of the token.
    const isRight = areEqual(hashOf(given ?? ''), 0, expected) && given !== undefined
    return isRight ? allowed.has(type) : unauthorized()
  }
  openForReading.add(authorize)
  return authorize
}

/** @param {string} text */
const hashOf = text => hash(new TextEncoder().encode(text))

function unauthorized () {
  const text = '{"code":"HTTP_UNAUTHORIZED","message":"this needs the bearer token"}\n'
  return new Response(text, {
    status: 401,
    headers: { 'www-authenticate': 'Bearer', 'content-type': 'application/json', 'content-length': `${text.length}` }
  })
}

/** True if everybody may read. @param {Authorize | undefined} authorize */
export const isPublic = authorize => authorize === undefined || openForReading.has(authorize)

/**
 * @param {ServedRequest} served @param {Action} action
 * @throws {HttpError | Refusal | Error} if the request may not do it, or `authorize` fails
 */
export async function assertAllowed ({ request, options: { authorize } }, action) {
  if (authorize === undefined) return // nothing that writes gets here
  const answer = await asked(authorize, request, action)
  if (answer === true) return
  if (answer === false) throw new HttpError(403, 'HTTP_FORBIDDEN', `you may not ${VERBS[action.type]}`)
  throw new Refusal(answer)
}

/**
 * An error of `authorize` must not pass for one of the store, of which clients are told.
 *
 * @param {Authorize} authorize @param {Request} request @param {Action} action
 * @returns {Promise<boolean | Response>}
 */
async function asked (authorize, request, action) {
  try {
    const answer = await authorize(request, action)
    if (typeof answer === 'boolean') return answer
    // Response.error() has no status. The copy throws if the body was read.
    if (answer instanceof Response && answer.status > 0) return new Response(answer.body, answer)
  } catch (cause) {
    throw new Error('authorize has failed', { cause })
  }
  throw new TypeError('authorize expected to return true, false or a Response')
}
