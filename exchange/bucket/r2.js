// A bucket of Cloudflare R2, as Workers are bound to it. Sources: Cloudflare, "R2 Workers API reference" and "R2 error
// codes".

import { assertBytes, assertInteger, assertOptions } from '../../lib/core/bytes.js'
import { fetchChanged } from '../../lib/core/errors.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { untilAborted } from '../../lib/source/async-util.js'
import { DEFAULT_STALL } from '../../verifier/mirrors/mirror-book.js'
import { systemClock } from '../../verifier/mirrors/patience.js'
import { assertSeconds, assertTime, headersInQuery, rangeOf } from './bucket.js'
import { bucketAbsent, bucketFailed, bucketInvalid, bucketRefused } from './errors.js'
import { compareKeys, fullKey, prefixOf, startOfKeys } from './keys.js'
import { putInParts } from './parts.js'
import { resumedBody } from './resumed-body.js'
import { Failure, withRetries } from './tries.js'

/** @import { Bucket, ListedObject, ObjectInfo } from './bucket.js' */
/** @import { OpenBody } from './resumed-body.js' */
/** @import { Clock } from '../../verifier/mirrors/patience.js' */

/**
 * @typedef {object} R2Object
 * @property {string} key
 * @property {number} size
 * @property {string} etag  without quotes
 * @property {Date} uploaded
 * @property {ReadableStream<Uint8Array>} [body]  absent if a condition does not hold
 */
/** @typedef {{ partNumber: number, etag: string }} R2Part */
/**
 * @typedef {object} R2Upload
 * @property {(partNumber: number, value: Uint8Array) => Promise<R2Part>} uploadPart
 * @property {(parts: R2Part[]) => Promise<R2Object>} complete
 * @property {() => Promise<void>} abort
 */
/**
 * The calls of an `R2Bucket` that are used.
 *
 * @typedef {object} R2Binding
 * @property {(key: string) => Promise<R2Object | null>} head
 * @property {(key: string, options?: any) => Promise<R2Object | null>} get
 * @property {(key: string, value: Uint8Array, options?: any) => Promise<R2Object | null>} put
 * @property {(key: string) => Promise<void>} delete
 * @property {(options?: any) => Promise<{ objects: R2Object[], truncated: boolean, cursor?: string }>} list
 * @property {(key: string) => Promise<R2Upload>} createMultipartUpload
 */

const CALLS = ['head', 'get', 'put', 'delete', 'list', 'createMultipartUpload']
const DEFAULT_RETRIES = 4
const PAGE = 1000
/** Codes of errors. Those that are not here say that the request is refused. */
/** @type {(number | undefined)[]} */
const [NO_BUCKET, NO_OBJECT, NO_RANGE, RATE_LIMIT] = [10006, 10007, 10039, 10058]
/** An internal error, and a service that is not available. A Worker that was cut off throws errors without a code. */
const FOR_A_TIME = [10001, 10043, undefined]

/**
 * Makes a bucket of a binding of a Worker. It gives no signed URLs, and cannot list uploads, so `abortUploads` does
 * nothing: R2 deletes the parts of unfinished uploads after seven days, unless a rule of the bucket says otherwise.
 *
 *     export default { async fetch (request, env) { const bucket = r2Bucket(env.BLOBS) } }
 *
 * @param {R2Binding} binding
 * @param {{ prefix?: string, retries?: number, stall?: number }} [options]  as those of `s3`
 * @returns {Bucket}
 */
export function r2Bucket (binding, options) { return openR2(binding, options) }

/**
 * The same, with what only tests choose.
 *
 * @param {R2Binding} binding @param {{ prefix?: string, retries?: number, stall?: number }} [options]
 * @param {{ clock?: Clock, partLen?: number }} [inTests]
 * @returns {Bucket}
 */
export function openR2 (binding, options, inTests) { return new R2Bucket(binding, options, inTests) }

/** @implements {Bucket} */
class R2Bucket {
  #binding
  #prefix
  #stall
  #tries
  #partLen
  /** The name of the bucket in errors: a binding does not know that of its bucket. */
  location

  /**
   * @param {R2Binding} binding @param {{ prefix?: string, retries?: number, stall?: number }} [options]
   * @param {{ clock?: Clock, partLen?: number }} [inTests]
   */
  constructor (binding, options = {}, { clock = systemClock, partLen } = {}) {
    assertOptions('binding', binding, 'a binding of R2')
    const missing = CALLS.find(call => typeof /** @type {any} */ (binding)[call] !== 'function')
    if (missing !== undefined) throw new TypeError(`"binding" expected a binding of R2: it has no ${missing}()`)
    assertKnownOptions(options, ['prefix', 'retries', 'stall'])
    const { retries = DEFAULT_RETRIES, stall = DEFAULT_STALL } = options
    assertInteger('retries', retries)
    assertInteger('stall', stall, 1)
    this.#binding = binding
    this.#prefix = prefixOf(options.prefix)
    this.#stall = stall
    this.#tries = { retries, clock }
    this.#partLen = partLen
    this.location = `r2:${this.#prefix}`
  }

  /** @type {Bucket['get']} */
  async get (key, range, options = {}) {
    const name = fullKey(key, this.#prefix)
    const { start, end } = rangeOf(range)
    assertKnownOptions(options, ['ifMatch', 'signal'])
    const { ifMatch, signal } = options
    if (start === end) return this.#emptyPart(name, start, options)
    const first = await this.#open(name, { start, end, etag: ifMatch, signal })
    if (first === undefined) return undefined
    if (first.open === undefined) return this.#emptyPart(name, start, options)
    const { info } = first
    const part = { start, end: Math.min(end, info.size) }
    const reopen = async (/** @type {number} */ at) => {
      const next = await this.#open(name, { start: at, end: part.end, etag: info.etag, signal })
      if (next?.open === undefined) throw fetchChanged(`r2:${name}`)
      return next.open
    }
    const reading = { ...part, location: `r2:${name}`, stall: this.#stall, ...this.#tries, signal }
    return { ...info, range: part, body: resumedBody(first.open, reopen, reading) }
  }

  /** @type {Bucket['head']} */
  async head (key, options = {}) {
    const name = fullKey(key, this.#prefix)
    assertKnownOptions(options, ['signal'])
    return this.#head(name, options.signal)
  }

  /** @type {Bucket['put']} */
  async put (key, body, options = {}) {
    const name = fullKey(key, this.#prefix)
    assertBytes('body', body)
    assertKnownOptions(options, ['ifAbsent', 'type', 'signal'])
    const { ifAbsent = false, type, signal } = options
    const how = {
      ...ifAbsent && { onlyIf: new Headers({ 'if-none-match': '*' }) },
      ...type !== undefined && { httpMetadata: { contentType: type } }
    }
    const object = await this.#call(name, () => this.#binding.put(name, body, how), { isWrite: true, signal })
    return object === null ? { isWritten: false } : { isWritten: true, etag: object.etag }
  }

  /** @type {Bucket['putParts']} */
  async putParts (key, source, options = {}) {
    const name = fullKey(key, this.#prefix)
    assertKnownOptions(options, ['size', 'signal'])
    const { signal } = options
    return putInParts(source, options, {
      location: `r2:${name}`,
      partLen: this.#partLen,
      putWhole: async bytes => ({ etag: (await this.put(key, bytes, { signal })).etag }),
      begin: () => this.#beginUpload(name, signal)
    })
  }

  /** @type {Bucket['delete']} */
  async delete (key, options = {}) {
    const name = fullKey(key, this.#prefix)
    assertKnownOptions(options, ['signal'])
    await this.#call(name, () => this.#binding.delete(name), { isWrite: true, signal: options.signal })
  }

  /** @type {Bucket['list']} */
  list (prefix, after, options = {}) {
    assertKnownOptions(options, ['signal'])
    return this.#list(startOfKeys('prefix', prefix), startOfKeys('after', after), options.signal)
  }

  /** R2 does this by itself. @type {Bucket['abortUploads']} */
  async abortUploads (olderThan, options = {}) {
    assertTime(olderThan)
    assertKnownOptions(options, ['signal'])
    return 0
  }

  /** @type {Bucket['url']} */
  async url (key, seconds, options) {
    fullKey(key, this.#prefix)
    assertSeconds(seconds)
    headersInQuery(options)
    return undefined
  }

  /** @param {string} name @param {AbortSignal} [signal] */
  async #head (name, signal) {
    const object = await this.#call(name, () => this.#binding.head(name), { signal })
    return object === null ? undefined : infoOf(object)
  }

  /** @param {string} name @param {number} start @param {{ ifMatch?: string, signal?: AbortSignal }} options */
  async #emptyPart (name, start, { ifMatch, signal }) {
    const info = await this.#head(name, signal)
    if (info === undefined) return undefined
    if (ifMatch !== undefined && info.etag !== ifMatch) throw fetchChanged(`r2:${name}`)
    const at = Math.min(start, info.size)
    return { ...info, range: { start: at, end: at }, body: nothing() }
  }

  /**
   * Asks for a part of an object.
   *
   * @param {string} name @param {{ start: number, end: number, etag?: string, signal?: AbortSignal }} wanted
   * @returns {Promise<{ info: ObjectInfo, open: OpenBody } | { open: undefined } | undefined>} undefined if there is
   *   no object; `open` is undefined if it ends before `start`
   */
  async #open (name, { start, end, etag, signal }) {
    const range = { offset: start, ...(end < Infinity && { length: end - start }) }
    const options = {
      ...((start > 0 || end < Infinity) && { range }),
      ...(etag !== undefined && { onlyIf: { etagMatches: etag } })
    }
    const object = await this.#call(name, async () => {
      try {
        return await this.#binding.get(name, options)
      } catch (error) {
        if (codeOf(error) === NO_RANGE) return undefined
        throw error
      }
    }, { signal })
    if (object === null) return undefined
    if (object === undefined) return { open: undefined }
    const { body } = object
    if (body === undefined || body === null) throw fetchChanged(`r2:${name}`)
    if (start < object.size) return { info: infoOf(object), open: openBody(body) }
    body.cancel().catch(() => {}) // it is empty
    return { open: undefined }
  }

  /**
   * @param {string} prefix @param {string} after @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<ListedObject>}
   */
  async * #list (prefix, after, signal) {
    const start = this.#prefix + prefix
    let last = after === '' ? '' : this.#prefix + after
    /** @type {string | undefined} */
    let cursor
    for (let isMore = true; isMore;) {
      const from = cursor !== undefined ? { cursor } : last !== '' ? { startAfter: last } : {}
      const options = { prefix: start, limit: PAGE, ...from }
      const page = await this.#call(start, () => this.#binding.list(options), { signal })
      for (const object of page.objects) {
        if (compareKeys(object.key, last) <= 0 || !object.key.startsWith(start)) {
          throw bucketInvalid(this.location, `its list of ${start} has ${object.key} after ${JSON.stringify(last)}`)
        }
        last = object.key
        yield { key: last.slice(this.#prefix.length), ...infoOf(object) }
      }
      isMore = page.truncated
      if (isMore && (page.cursor === undefined || page.cursor === cursor)) {
        throw bucketInvalid(this.location, `its list of ${start} does not go on`)
      }
      cursor = page.cursor
    }
  }

  /** @param {string} name @param {AbortSignal} [signal] @returns {Promise<import('./parts.js').Upload>} */
  async #beginUpload (name, signal) {
    const upload = await this.#call(name, () => this.#binding.createMultipartUpload(name), { isWrite: true, signal })
    return {
      put: async (number, bytes, partSignal) => {
        const put = () => upload.uploadPart(number, bytes)
        return (await this.#call(name, put, { isWrite: true, signal: partSignal })).etag
      },
      complete: async (etags, partSignal) => {
        const parts = etags.map((etag, i) => ({ partNumber: i + 1, etag }))
        const { etag } = await this.#call(name, () => upload.complete(parts), { isWrite: true, signal: partSignal })
        return { etag }
      },
      abort: () => this.#call(name, () => upload.abort(), { isWrite: true })
    }
  }

  /**
   * Makes a call of the binding, again if it fails for a time.
   *
   * @template T
   * @param {string} name  the key @param {() => Promise<T>} act
   * @param {{ isWrite?: boolean, signal?: AbortSignal }} options
   * @returns {Promise<T>}
   */
  #call (name, act, { isWrite, signal }) {
    const location = `r2:${name}`
    return withRetries(async () => {
      const isOver = new AbortController()
      const { clock } = this.#tries
      /** @type {Promise<T> | undefined} */
      let acting
      try {
        // A binding takes no signal, so a call that is late goes on.
        const late = clock.sleep(this.#stall, isOver.signal).then(() => {
          throw new Error(`there was no answer within ${this.#stall} ms`)
        })
        late.catch(() => {})
        acting = act()
        return await untilAborted(Promise.race([acting, late]), signal)
      } catch (error) {
        acting?.then(endLate).catch(() => {})
        signal?.throwIfAborted()
        throw failureOf(location, error)
      } finally {
        isOver.abort()
      }
    }, { ...this.#tries, isWrite, signal })
  }
}

/** Ends the body of an object that nobody waits for any longer. @param {any} result  of any call of a binding */
function endLate (result) {
  return result?.body?.cancel()
}

/** The number at the end of the message of an error of R2; undefined for other errors. @param {unknown} error */
function codeOf (error) {
  const [, number] = /\((\d{5})\)\s*$/.exec(error instanceof Error ? error.message : '') ?? []
  return number === undefined ? undefined : Number(number)
}

/** @param {string} location @param {unknown} error */
function failureOf (location, error) {
  const code = codeOf(error)
  const said = error instanceof Error ? error.message : String(error)
  if (code === NO_BUCKET) return new Failure(bucketAbsent(location), { isFinal: true })
  if (code === RATE_LIMIT) return new Failure(bucketFailed(location, said, { cause: error }))
  if (FOR_A_TIME.includes(code)) return new Failure(bucketFailed(location, said, { cause: error }), { isUnknown: true })
  const why = code === NO_OBJECT ? 'there is no such object or upload' : said
  return new Failure(bucketRefused(location, why), { isFinal: true })
}

/** @param {R2Object} object @returns {ObjectInfo} */
const infoOf = ({ size, etag, uploaded }) => ({ size, etag, modified: uploaded })

/** @param {ReadableStream<Uint8Array>} body @returns {OpenBody} */
function openBody (body) {
  const reader = body.getReader()
  const end = () => { reader.cancel().catch(() => {}) }
  return {
    end,
    pieces: async function * (signal) {
      try {
        while (true) {
          const next = await untilAborted(reader.read(), signal)
          if (next.done) return
          yield next.value
        }
      } finally {
        end()
      }
    }
  }
}

/** @returns {AsyncGenerator<Uint8Array>} */
async function * nothing () {}
