// Checks the options of `s3`, and fills in what the environment says.

import { assertInteger, assertOptions, describe } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { urlOf } from '../../verifier/sources/http/urls.js'
import { DEFAULT_STALL } from '../../verifier/mirrors/mirror-book.js'
import { prefixOf } from './keys.js'

/** @import { CredentialsGiver, Keys } from './credentials.js' */

/**
 * @typedef {object} S3Options
 * @property {string} bucket  the name of the bucket
 * @property {string} [prefix]  the start of all keys in the bucket, which the calls neither take nor give. A slash is
 *   added to its end. Default: none
 * @property {string | URL} [endpoint]  the URL of the server. Default: `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, or
 *   Amazon's server in the region
 * @property {string} [region]  default: `AWS_REGION`, `AWS_DEFAULT_REGION`, or `auto` if there is an endpoint
 * @property {string} [accessKeyId]  default: `AWS_ACCESS_KEY_ID`
 * @property {string} [secretAccessKey]  default: `AWS_SECRET_ACCESS_KEY`
 * @property {string} [sessionToken]  default: `AWS_SESSION_TOKEN`
 * @property {CredentialsGiver | Keys | false} [credentials]  in place of the three before: an object with them, or a
 *   function that returns one, or a promise of one. It is called again a minute before `expiration`, and when the
 *   server refuses a request. If it then fails, the last ones serve until `expiration`. It may take `stall`
 *   milliseconds. `false`: requests are not signed, for a bucket that anybody may read
 * @property {boolean} [pathStyle]  true if URLs have the bucket in their path and not in the name of the host. Default:
 *   true if there is an endpoint, or the name of the bucket has a dot
 * @property {boolean} [signPayload]  true if the signature of a request includes the hash of its body. Then the server
 *   refuses a body that was damaged on its way. Default: false for https:, which protects it anyway, otherwise true
 * @property {typeof globalThis.fetch} [fetch]  called with `redirect: 'manual'`. Default: as in `mirrorOf`
 * @property {number} [retries]  how often a request that failed for a time is made again; default: 4
 * @property {number} [stall]  milliseconds of waiting for an answer, and within which 16 KiB of a body must arrive.
 *   Default: 15 000
 */

const NAMES = [
  'bucket', 'prefix', 'endpoint', 'region', 'accessKeyId', 'secretAccessKey', 'sessionToken', 'credentials',
  'pathStyle', 'signPayload', 'fetch', 'retries', 'stall'
]
const DEFAULT_RETRIES = 4
/** What names of buckets are made of. Some stores allow more than Amazon does, but never what changes a URL. */
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/

/** A variable of the environment; undefined in browsers, and if the process may not read it. @param {string} name */
function variable (name) {
  try {
    return globalThis.process?.env?.[name] || undefined
  } catch {
    return undefined // Deno asks for a permission
  }
}

/** @param {S3Options} options */
export function checkedOptions (options) {
  assertOptions('options', options, '{ bucket, ... }')
  assertKnownOptions(options, NAMES)
  const { bucket, fetch, retries = DEFAULT_RETRIES, stall = DEFAULT_STALL } = options
  if (typeof bucket !== 'string') throw new TypeError(`"bucket" expected a string, got ${describe(bucket)}`)
  if (!BUCKET.test(bucket) || bucket.includes('..')) {
    throw new TypeError(`"bucket" expected a name of 2 to 63 letters, digits, "-", "_" and ".", got '${bucket}'`)
  }
  for (const name of /** @type {const} */ (['region', 'accessKeyId', 'secretAccessKey', 'sessionToken'])) {
    assertType(name, options[name], 'string')
  }
  for (const name of /** @type {const} */ (['pathStyle', 'signPayload'])) assertType(name, options[name], 'boolean')
  assertType('fetch', fetch, 'function')
  assertInteger('retries', retries)
  assertInteger('stall', stall, 1)

  const given = options.endpoint ?? variable('AWS_ENDPOINT_URL_S3') ?? variable('AWS_ENDPOINT_URL')
  const region = options.region ?? variable('AWS_REGION') ?? variable('AWS_DEFAULT_REGION') ??
    (given === undefined ? undefined : 'auto')
  if (region === undefined || !/^[\w-]+$/.test(region)) {
    const given = region === undefined ? 'undefined: pass it, or set AWS_REGION' : `'${region}'`
    throw new TypeError(`"region" expected the name of a region, got ${given}`)
  }
  const endpoint = urlOf(given ?? `https://s3.${region}.amazonaws.com`, { name: 'endpoint' })
  if (endpoint.search !== '' || endpoint.hash !== '') {
    throw new TypeError(`"endpoint" expected a URL without a query, got '${endpoint}'`)
  }
  const { pathStyle = given !== undefined || bucket.includes('.') } = options
  const { signPayload = endpoint.protocol !== 'https:' } = options
  return {
    bucket,
    prefix: prefixOf(options.prefix),
    region,
    base: baseOf(endpoint, bucket, pathStyle),
    credentials: credentialsOf(options),
    signPayload,
    fetch,
    retries,
    stall
  }
}

/**
 * The URL of the bucket, without a slash at its end.
 *
 * @param {URL} endpoint @param {string} bucket @param {boolean} pathStyle
 */
function baseOf (endpoint, bucket, pathStyle) {
  const path = endpoint.pathname.replace(/\/+$/, '')
  if (pathStyle) return `${endpoint.origin}${path}/${bucket}`
  return `${endpoint.protocol}//${bucket}.${endpoint.host}${path}`
}

/** @param {S3Options} options @returns {CredentialsGiver | Keys | false} */
function credentialsOf ({ credentials, accessKeyId, secretAccessKey, sessionToken }) {
  const isGiven = [accessKeyId, secretAccessKey, sessionToken].some(value => value !== undefined)
  if (credentials !== undefined) {
    if (isGiven) throw new TypeError('"credentials" expected alone, without accessKeyId and the others')
    if (credentials === false || typeof credentials === 'function') return credentials
    assertOptions('credentials', credentials, '{ accessKeyId, secretAccessKey, ... } or a function')
    return credentials
  }
  const keys = isGiven
    ? { accessKeyId, secretAccessKey, sessionToken }
    : {
        accessKeyId: variable('AWS_ACCESS_KEY_ID'),
        secretAccessKey: variable('AWS_SECRET_ACCESS_KEY'),
        sessionToken: variable('AWS_SESSION_TOKEN')
      }
  return /** @type {Keys} */ (keys)
}

/** @param {string} name @param {unknown} value @param {'string' | 'boolean' | 'function'} type */
function assertType (name, value, type) {
  const actual = typeof value
  if (value === undefined || (actual === type && value !== '')) return
  throw new TypeError(`"${name}" expected a ${type}, got ${value === '' ? 'an empty one' : describe(value)}`)
}
