// Sends the requests of an S3 bucket: signs them, limits how long they take, and turns answers that are errors into
// failures. Sources: Amazon S3, "Error responses", "Authenticating requests (AWS Signature Version 4)".

import { AwsV4Signer } from 'aws4fetch'
import { defaultFetch } from '#default-fetch'
import { base16 } from 'multiformats/bases/base16'
import { BaoError } from '../../lib/core/errors.js'
import { ByteQueue } from '../../lib/core/byte-queue.js'
import { eitherOf, untilAborted } from '../../lib/source/async-util.js'
import { endOverEncoded } from '../../verifier/sources/http/encodings.js'
import { statusError } from '../../verifier/sources/http/answer.js'
import { bucketAbsent, bucketClock, bucketFailed, bucketInvalid, bucketRefused } from './errors.js'
import { Credentials } from './credentials.js'
import { Failure } from './tries.js'
import { parseXml, textIn } from './xml.js'

/** @import { Clock } from '../../verifier/mirrors/patience.js' */
/** @import { checkedOptions } from './s3-options.js' */
/** @import { Element } from './xml.js' */

/**
 * @typedef {object} S3Request
 * @property {string} method
 * @property {string} [key]  with the prefix of the bucket; default: the bucket itself
 * @property {[name: string, value: string][]} [query]
 * @property {Record<string, string>} [headers]
 * @property {Uint8Array} [body]
 * @property {AbortSignal} [signal]
 * @property {number[]} expected  the statuses that are no failure
 * @property {boolean} [mayBeAbsent]  true if an object or upload that is not there gives undefined; default: false
 */

/** The maximum length of an answer that is read into memory: a list of 1000 keys of 1024 bytes, each byte as `%XX`. */
const MAX_XML_LEN = 1 << 23
/** The maximum length of an answer that says what is wrong. */
const MAX_ERROR_LEN = 1 << 16
/** How many bytes of a body must leave in a millisecond, on average. */
const MIN_RATE = 64
/** The maximum length of what a server says about an error. */
const MAX_TEXT_LEN = 300
/** How many keys for signing are kept: there is one for each day. */
const MAX_SIGNING_KEYS = 8
/** Errors that may go away with other credentials. */
const STALE_CODES = ['ExpiredToken', 'InvalidAccessKeyId', 'InvalidToken', 'TokenRefreshRequired', 'ExpiredRequest']
const NO_UPLOAD = 'NoSuchUpload'
/** The codes of status 404 if there is no object or upload. Some stores use 404 for wrong credentials, too. */
const ABSENT_CODES = ['', 'NoSuchKey', NO_UPLOAD]
/** Codes of errors of connections that never carried a request. */
const UNSENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ConnectionRefused', 'UND_ERR_CONNECT_TIMEOUT']
const OCTETS = 'application/octet-stream'
const NO_BODY = new Uint8Array(0)

/** An answer, and whether its body was read. */
export class Answer {
  #response
  #ending
  #signal
  #onWhole
  /** True if the body was read to its end. */
  #isWhole = false

  /**
   * @param {Response} response @param {AbortController} ending  ends the request @param {AbortSignal} signal
   * @param {() => void} onWhole  called when the body was read to its end, or there is none
   */
  constructor (response, ending, signal, onWhole) {
    this.#response = response
    this.#ending = ending
    this.#signal = signal
    this.#onWhole = onWhole
    this.status = response.status
    this.headers = response.headers
    if (response.body === null) this.#hasEnded()
  }

  #hasEnded () {
    this.#isWhole = true
    this.#onWhole()
  }

  /** Ends the answer, if it has not ended. */
  end () {
    if (this.#isWhole) return // because an abort takes a tenth of the time of a short request
    this.#response.body?.cancel().catch(() => {}) // the rest is not needed, so its errors do not matter
    this.#ending.abort(new DOMException('the rest of the answer is not needed', 'AbortError'))
  }

  /** Yields the body. @param {AbortSignal} [signal] @returns {AsyncGenerator<Uint8Array>} */
  async * pieces (signal) {
    const { body } = this.#response
    if (body === null) return
    const reader = body.getReader()
    const either = eitherOf(signal, this.#signal)
    try {
      while (true) {
        const next = await untilAborted(reader.read(), either)
        if (next.done) return this.#hasEnded()
        yield next.value
      }
    } finally {
      reader.cancel().catch(() => {})
      this.end()
    }
  }

  /** Reads the body into memory. @param {number} max @returns {Promise<Uint8Array | undefined>} undefined if longer */
  async bytes (max) {
    const queue = new ByteQueue()
    for await (const piece of this.pieces()) {
      if (queue.len + piece.length > max) return undefined
      queue.push(piece, max)
    }
    return queue.bytes
  }
}

export class S3Client {
  #options
  #clock
  #credentials
  #fetch
  #signingKeys = new Map()
  /** The name of the bucket in errors. */
  location
  /** When the server sent its last answer, by its own clock. @type {Date | undefined} */
  lastAnswer

  /** @param {ReturnType<typeof checkedOptions>} options @param {Clock} clock */
  constructor (options, clock) {
    this.#options = options
    this.#clock = clock
    this.#fetch = options.fetch ?? ((/** @type {any} */ url, /** @type {any} */ init) =>
      (init.method === 'GET' ? defaultFetch() : globalThis.fetch)(url, init))
    this.location = `s3://${options.bucket}/${options.prefix}`
    const { location } = this
    this.#credentials = new Credentials(options.credentials, { location, stall: options.stall, clock })
    endOverEncoded()
  }

  /** The name of an object in errors. @param {string} [key]  with the prefix */
  locationOf (key) { return key === undefined ? this.location : `s3://${this.#options.bucket}/${key}` }

  /**
   * Sends a request once, or a second time if new credentials may help.
   *
   * @template T
   * @param {S3Request} request
   * @param {(answer: Answer, xml: () => Promise<Element>) => Promise<T> | T} read  gets an answer of one of the
   *   expected statuses. `xml` reads and parses its body. The time limit includes `read`
   * @returns {Promise<T>}
   * @throws {Failure}
   */
  async send (request, read) {
    const keys = await this.#credentials.get(request.signal)
    try {
      return await this.#sendWith(keys, request, read)
    } catch (error) {
      if (!(error instanceof Failure && error.isStale && this.#credentials.forget(keys))) throw error
    }
    return this.#sendWith(await this.#credentials.get(request.signal), request, read)
  }

  /**
   * Signs a URL with which anybody can read an object.
   *
   * @param {string} key @param {number} seconds
   * @param {[string, string][]} query  more parameters. Without a signature they are left out: Amazon refuses them
   * @returns {Promise<string>}
   */
  async signedUrl (key, seconds, query) {
    const keys = await this.#credentials.get()
    const url = this.#urlOf(key, keys === undefined ? [] : [['X-Amz-Expires', String(seconds)], ...query])
    if (keys === undefined) return url
    const signer = new AwsV4Signer({ ...this.#signing(keys), url, method: 'GET', signQuery: true })
    return String((await signer.sign()).url)
  }

  /**
   * Notes the time of an answer. Answers may come in another order than they were sent. A failure does not count: its
   * sender may be a gateway, or a server that refuses requests because its clock is wrong.
   *
   * @param {Headers} headers
   */
  #noteTime (headers) {
    const time = Date.parse(headers.get('date') ?? '')
    if (time > (this.lastAnswer?.getTime() ?? 0)) this.lastAnswer = new Date(time)
  }

  /**
   * @template T
   * @param {import('./credentials.js').Keys | undefined} keys @param {S3Request} request
   * @param {(answer: Answer, xml: () => Promise<Element>) => Promise<T> | T} read
   * @returns {Promise<T>}
   */
  async #sendWith (keys, request, read) {
    const { method, key, body, signal } = request
    const location = this.locationOf(key)
    const limit = this.#options.stall + Math.ceil((body?.length ?? 0) / MIN_RATE)
    const { url, headers } = await untilAborted(this.#signed(keys, request), signal)
    const ending = new AbortController()
    const either = eitherOf(signal, ending.signal)
    const isOver = new AbortController()
    this.#clock.sleep(limit, isOver.signal).then(
      () => ending.abort(new Error(`there was no answer within ${limit} ms`)), () => {})
    // The signal of `fetch` has no reason, because Node.js may emit it on a socket that nothing listens to.
    const quiet = new AbortController()
    const onAbort = () => quiet.abort()
    // Otherwise Node.js would keep the signal, and what it ends, for ever.
    const forget = () => either.removeEventListener('abort', onAbort)
    /** @type {Answer | undefined} */
    let answer
    try {
      if (either.aborted) quiet.abort()
      either.addEventListener('abort', onAbort, { once: true })
      const init = { method, headers, signal: quiet.signal, redirect: /** @type {const} */ ('manual'), body }
      const answering = this.#fetch(url, /** @type {any} */ (init))
      const response = await untilAborted(answering, either).catch(error => {
        answering.then(late => late.body?.cancel()).catch(() => {})
        throw error
      })
      const { status, redirected, type } = response
      const received = answer = new Answer(response, ending, either, forget)
      if (redirected || type === 'opaqueredirect' || (status >= 300 && status < 400)) {
        throw new Failure(this.#redirected(location, answer), { isFinal: true })
      }
      if (request.expected.includes(status)) {
        this.#noteTime(response.headers)
        return await read(received, async () => parsed(location, await received.bytes(MAX_XML_LEN)))
      }
      const failure = await this.#failureOf(answer, request, location)
      if (!(request.mayBeAbsent && failure.isAbsent)) throw failure
      this.#noteTime(response.headers)
      return /** @type {any} */ (undefined)
    } catch (error) {
      answer?.end()
      forget()
      signal?.throwIfAborted()
      if (error instanceof Failure || error instanceof BaoError) throw error
      throw new Failure(bucketFailed(location, reasonOf(error), { cause: error }), { isUnknown: !isUnsent(error) })
    } finally {
      isOver.abort()
    }
  }

  /** @param {import('./credentials.js').Keys | undefined} keys @param {S3Request} request */
  async #signed (keys, { method, key, query, headers: given, body = NO_BODY }) {
    const { 'content-type': type = OCTETS, ...headers } = given ?? {}
    const url = this.#urlOf(key, query)
    // Browsers do not let pages set this header. It is not signed, because they send another one.
    const unsigned = { 'accept-encoding': 'identity', ...(body.length > 0 && { 'content-type': type }) }
    if (keys === undefined) return { url, headers: new Headers({ ...headers, ...unsigned }) }
    if (globalThis.crypto?.subtle === undefined) {
      throw new TypeError('requests cannot be signed without WebCrypto, which pages have over https: and on localhost')
    }
    const hash = this.#options.signPayload ? await sha256(body) : 'UNSIGNED-PAYLOAD'
    const signer = new AwsV4Signer({
      ...this.#signing(keys), url, method, headers: { ...headers, 'x-amz-content-sha256': hash }
    })
    const signed = await signer.sign()
    for (const [name, value] of Object.entries(unsigned)) signed.headers.set(name, value)
    return { url, headers: signed.headers }
  }

  /** @param {import('./credentials.js').Keys} keys */
  #signing ({ accessKeyId, secretAccessKey, sessionToken }) {
    if (this.#signingKeys.size >= MAX_SIGNING_KEYS) this.#signingKeys.clear()
    const { region } = this.#options
    return { accessKeyId, secretAccessKey, sessionToken, service: 's3', region, cache: this.#signingKeys }
  }

  /** @param {string} [key] @param {[string, string][]} [query] */
  #urlOf (key, query = []) {
    const path = key === undefined ? '/' : `/${key.split('/').map(encoded).join('/')}`
    const search = query.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&')
    return `${this.#options.base}${path}${search === '' ? '' : `?${search}`}`
  }

  /** @param {string} location @param {Answer} answer */
  #redirected (location, { status, headers }) {
    const region = headers.get('x-amz-bucket-region')
    const advice = region === null ? 'check the endpoint' : `the region of the bucket is ${shown(region)}`
    return bucketInvalid(location, `it redirects, and signed requests do not follow: ${advice}`, { status })
  }

  /** @param {Answer} answer @param {S3Request} request @param {string} location @returns {Promise<Failure>} */
  async #failureOf (answer, { method }, location) {
    const { status, headers } = answer
    const { code, message } = saidIn(method === 'HEAD' ? NO_BODY : await answer.bytes(MAX_ERROR_LEN))
    const said = [`status ${status} to ${method}`, code, message].filter(text => text !== '').join(', ')
    if (code === 'NoSuchBucket') return new Failure(bucketAbsent(this.location, { status }), { isFinal: true })
    if (code === 'RequestTimeTooSkewed') {
      const why = `${said}. Its clock shows ${shown(headers.get('date') ?? 'nothing')}, the one here ` +
        new Date().toUTCString()
      return new Failure(bucketClock(location, why, { status }), { isFinal: true })
    }
    const { retryAfter } = statusError(location, /** @type {any} */ ({ status, headers }))
    const isServerFault = status >= 500 && status !== 501
    if (isServerFault || status === 408 || code === 'RequestTimeout') {
      return new Failure(bucketFailed(location, said, { status, retryAfter }), { isUnknown: true })
    }
    const isAbsent = status === 404 && ABSENT_CODES.includes(code)
    // 409: another request for the key is under way. 404 to a PUT: the key was deleted during the request.
    const isConflict = status === 409 || (isAbsent && method === 'PUT' && code !== NO_UPLOAD)
    if (isConflict || status === 425 || status === 429) {
      return new Failure(bucketFailed(location, said, { status, retryAfter }))
    }
    const isStale = status === 401 || status === 403 || STALE_CODES.includes(code)
    return new Failure(bucketRefused(location, said, { status }), { isFinal: true, isStale, isAbsent })
  }
}

/**
 * Parses an answer. One that was cut off may be whole the next time.
 *
 * @param {string} location @param {Uint8Array | undefined} bytes
 */
function parsed (location, bytes) {
  const isUnknown = true
  if (bytes === undefined) throw new Failure(bucketInvalid(location, `more than ${MAX_XML_LEN} bytes`), { isUnknown })
  try {
    return parseXml(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    const why = cause instanceof SyntaxError ? cause.message : 'it is not UTF-8'
    throw new Failure(bucketInvalid(location, why, { cause }), { isUnknown })
  }
}

/**
 * What an answer says about an error; empty if it is not XML, as that of a proxy.
 *
 * @param {Uint8Array | undefined} bytes
 */
function saidIn (bytes) {
  try {
    const error = parseXml(new TextDecoder().decode(bytes))
    return { code: shown(textIn(error, 'Code') ?? ''), message: shown(textIn(error, 'Message') ?? '') }
  } catch {
    return { code: '', message: '' }
  }
}

/** A text of a server, as messages show it. @param {string} text */
// eslint-disable-next-line no-control-regex
export const shown = text => text.replace(/[\0-\x1f\x7f-\x9f\u2028\u2029]/g, ' ').slice(0, MAX_TEXT_LEN)

/** @param {unknown} error */
function reasonOf (error) {
  const cause = error instanceof Error ? error.cause : undefined
  const { code, message } = /** @type {{ code?: unknown, message?: string }} */ (cause ?? error ?? {})
  return shown(typeof code === 'string' ? code : message ?? String(error))
}

/** True if the request has certainly not reached the server. @param {unknown} error */
function isUnsent (error) {
  const codes = [error, error instanceof Error ? error.cause : undefined].map(some => /** @type {any} */ (some)?.code)
  return codes.some(code => UNSENT.includes(code))
}

/** Encodes a segment of a path, or a part of a query, as signatures have it. @param {string} text */
const encoded = text =>
  encodeURIComponent(text).replace(/[!'()*]/g, char => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

/** In hexadecimal digits. @param {Uint8Array} bytes */
async function sha256 (bytes) {
  const hash = await crypto.subtle.digest('SHA-256', /** @type {Uint8Array<ArrayBuffer>} */ (bytes))
  return base16.baseEncode(new Uint8Array(hash))
}
