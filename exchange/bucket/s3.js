// A bucket on a server that speaks the protocol of Amazon S3. Source: Amazon S3, "API reference".

import { fetchChanged } from '../../lib/core/errors.js'
import { assertBytes } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { eitherOf } from '../../lib/source/async-util.js'
import { claimsOf } from '../../verifier/sources/http/answer.js'
import { systemClock } from '../../verifier/mirrors/patience.js'
import { assertSeconds, assertTime, headersInQuery, rangeOf } from './bucket.js'
import { bucketFailed, bucketInvalid, bucketRefused } from './errors.js'
import { compareKeys, fullKey, startOfKeys } from './keys.js'
import { putInParts } from './parts.js'
import { resumedBody } from './resumed-body.js'
import { S3Client, shown } from './s3-client.js'
import { checkedOptions } from './s3-options.js'
import { Failure, withRetries } from './tries.js'
import { escaped, textIn } from './xml.js'

/** @import { BaoError } from '../../lib/core/errors.js' */
/** @import { Bucket, ListedObject, ObjectInfo } from './bucket.js' */
/** @import { Answer, S3Request } from './s3-client.js' */
/** @import { S3Options } from './s3-options.js' */
/** @import { Clock } from '../../verifier/mirrors/patience.js' */
/** @import { Element } from './xml.js' */

/** The maximum number of keys in an answer: that of Amazon. */
const PAGE = 1000
/** The maximum length of the body of an answer that has nothing to say. */
const MAX_IDLE_LEN = 1 << 16

/**
 * Opens a bucket on a server that speaks S3: Amazon S3, Cloudflare R2, MinIO, Ceph, versitygw and others. No request is
 * made yet. A request that fails for a time is made again, after a wait that doubles. Redirects are not followed.
 *
 *     const bucket = s3({ endpoint: 'https://storage.example', bucket: 'blobs', accessKeyId, secretAccessKey })
 *
 * @param {S3Options} options
 * @returns {Bucket}
 */
export function s3 (options) { return openS3(options) }

/**
 * The same, with what only tests choose.
 *
 * @param {S3Options} options @param {{ clock?: Clock, partLen?: number }} [inTests]
 * @returns {Bucket}
 */
export function openS3 (options, inTests) { return new S3Bucket(options, inTests) }

/** @implements {Bucket} */
class S3Bucket {
  #client
  #prefix
  #stall
  #tries
  #partLen
  /** The name of the bucket in errors. @type {string} */
  location

  /**
   * @param {S3Options} options @param {{ clock?: Clock, partLen?: number }} [inTests]
   */
  constructor (options, { clock = systemClock, partLen } = {}) {
    const checked = checkedOptions(options)
    this.#client = new S3Client(checked, clock)
    this.#prefix = checked.prefix
    this.#stall = checked.stall
    this.#tries = { retries: checked.retries, clock }
    this.#partLen = partLen
    this.location = this.#client.location
  }

  get lastAnswer () { return this.#client.lastAnswer }

  /** @type {Bucket['get']} */
  async get (key, range, options = {}) {
    const name = fullKey(key, this.#prefix)
    const { start, end } = rangeOf(range)
    assertKnownOptions(options, ['ifMatch', 'signal'])
    const { ifMatch, signal } = options
    const location = this.#client.locationOf(name)
    if (start === end) return this.#emptyPart(name, start, options)
    const first = await this.#open(name, { start, end, etag: ifMatch, signal })
    if (first === undefined) return undefined
    if (first.answer === undefined) return this.#emptyPart(name, start, options)
    const { info, part } = first
    const reopen = async (/** @type {number} */ at) => {
      const next = await this.#open(name, { start: at, end: part.end, etag: info.etag, signal })
      const isSame = next?.answer !== undefined && next.info.etag === info.etag && next.info.size === info.size
      if (isSame) return next.answer
      next?.answer?.end()
      throw fetchChanged(location)
    }
    const reading = { ...part, location, stall: this.#stall, ...this.#tries, signal }
    return { ...info, range: part, body: resumedBody(first.answer, isStrong(info.etag) ? reopen : undefined, reading) }
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
    const headers = { ...ifAbsent && { 'if-none-match': '*' }, ...type !== undefined && { 'content-type': type } }
    const expected = ifAbsent ? [200, 412] : [200]
    return this.#send({ method: 'PUT', key: name, headers, body, signal, expected }, async answer => {
      await answer.bytes(MAX_IDLE_LEN)
      return answer.status === 412 ? { isWritten: false } : { isWritten: true, ...etagIn(answer.headers) }
    })
  }

  /** @type {Bucket['putParts']} */
  async putParts (key, source, options = {}) {
    const name = fullKey(key, this.#prefix)
    assertKnownOptions(options, ['size', 'signal'])
    const { signal } = options
    return putInParts(source, options, {
      location: this.#client.locationOf(name),
      partLen: this.#partLen,
      putWhole: async bytes => {
        const { etag } = await this.put(key, bytes, { signal })
        return { ...(etag !== undefined && { etag }) }
      },
      begin: () => this.#beginUpload(name, signal)
    })
  }

  /** @type {Bucket['delete']} */
  async delete (key, options = {}) {
    const name = fullKey(key, this.#prefix)
    assertKnownOptions(options, ['signal'])
    await this.#delete(name, [], options.signal)
  }

  /** @type {Bucket['list']} */
  list (prefix, after, options = {}) {
    assertKnownOptions(options, ['signal'])
    return this.#list(startOfKeys('prefix', prefix), startOfKeys('after', after), options.signal)
  }

  /** @type {Bucket['abortUploads']} */
  async abortUploads (olderThan, options = {}) {
    assertTime(olderThan)
    assertKnownOptions(options, ['signal'])
    let count = 0
    for await (const { name, id, begun } of this.#uploads(options.signal)) {
      if (!(begun < olderThan)) continue
      await this.#delete(name, [['uploadId', id]], options.signal)
      count++
    }
    return count
  }

  /** @type {Bucket['url']} */
  async url (key, seconds, options) {
    const name = fullKey(key, this.#prefix)
    assertSeconds(seconds)
    return this.#client.signedUrl(name, seconds, headersInQuery(options))
  }

  /**
   * @template T
   * @param {S3Request} request
   * @param {(answer: Answer, xml: () => Promise<Element>) => Promise<T> | T} read
   * @returns {Promise<T>}
   */
  #send (request, read) {
    const isWrite = request.method !== 'GET' && request.method !== 'HEAD'
    // Node.js warns of a signal to which many requests listen, so each has its own.
    const signal = request.signal && eitherOf(request.signal, new AbortController().signal)
    return withRetries(() => this.#client.send({ ...request, signal }, read), { ...this.#tries, isWrite, signal })
  }

  /** @param {string} name @param {AbortSignal} [signal] @returns {Promise<ObjectInfo | undefined>} */
  #head (name, signal) {
    const request = { method: 'HEAD', key: name, signal, expected: [200], mayBeAbsent: true }
    return this.#send(request, ({ headers }) => {
      const length = headers.get('content-length') ?? ''
      if (!/^\d{1,15}$/.test(length)) throw this.#invalid(name, 'it does not state the length of the object')
      return infoFrom(headers, Number(length))
    })
  }

  /** @param {string} name @param {number} start @param {{ ifMatch?: string, signal?: AbortSignal }} options */
  async #emptyPart (name, start, { ifMatch, signal }) {
    const info = await this.#head(name, signal)
    if (info === undefined) return undefined
    if (ifMatch !== undefined && info.etag !== ifMatch) throw fetchChanged(this.#client.locationOf(name))
    const at = Math.min(start, info.size)
    return { ...info, range: { start: at, end: at }, body: nothing() }
  }

  /**
   * Asks for a part of an object.
   *
   * @param {string} name @param {{ start: number, end: number, etag?: string, signal?: AbortSignal }} wanted
   * @returns {Promise<{ info: ObjectInfo, part: { start: number, end: number }, answer: Answer }
   *   | { answer: undefined } | undefined>} undefined if there is no object; no answer if it ends before `start`
   */
  #open (name, { start, end, etag, signal }) {
    const headers = {
      ...((start > 0 || end < Infinity) && { range: `bytes=${start}-${end === Infinity ? '' : end - 1}` }),
      ...(etag !== undefined && { 'if-match': quoted(etag) })
    }
    const request = { method: 'GET', key: name, headers, signal, expected: [200, 206, 412, 416], mayBeAbsent: true }
    return this.#send(request, async answer => {
      const { status } = answer
      if (status === 412 && etag === undefined) throw this.#invalid(name, 'a condition that was not set does not hold')
      if (status === 412) throw fetchChanged(this.#client.locationOf(name))
      if (status === 416) {
        answer.end()
        return { answer: undefined }
      }
      const claims = claimsOf(/** @type {any} */ (answer))
      if (claims.isEncoded) throw this.#invalid(name, 'the object has a Content-Encoding')
      const { size, range = { start: 0, end: size ?? NaN } } = claims
      const isRight = size !== undefined && range.start === start && range.end === Math.min(end, size)
      const isWhole = status === 200 && size !== undefined && start === 0
      if (!isRight && !isWhole) {
        const got = status === 200 ? 'the whole object' : shown(answer.headers.get('content-range') ?? '')
        const advice = got === '' ? 'no readable Content-Range (in pages, CORS must expose it)' : got
        throw this.#invalid(name, `asked for bytes ${start} to ${end}, it answers with ${advice}`)
      }
      const info = infoFrom(answer.headers, size)
      if (etag !== undefined && info.etag !== undefined && info.etag !== etag) {
        throw fetchChanged(this.#client.locationOf(name))
      }
      return { info, part: { start, end: Math.min(end, size) }, answer }
    })
  }

  /** @param {string} name @param {[string, string][]} query @param {AbortSignal} [signal] */
  async #delete (name, query, signal) {
    const request = { method: 'DELETE', key: name, query, signal, expected: [200, 204], mayBeAbsent: true }
    await this.#send(request, answer => answer.bytes(MAX_IDLE_LEN))
  }

  /**
   * @param {string} prefix @param {string} after @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<ListedObject>}
   */
  async * #list (prefix, after, signal) {
    let last = after === '' ? '' : this.#prefix + after
    for (let isMore = true; isMore;) {
      const query = /** @type {[string, string][]} */ ([
        ['encoding-type', 'url'], ['list-type', '2'], ['max-keys', String(PAGE)], ['prefix', this.#prefix + prefix]
      ])
      if (last !== '') query.push(['start-after', last])
      const page = await this.#page(query, 'ListBucketResult', signal)
      for (const element of page.named('Contents')) {
        const key = page.keyIn(element, 'Key')
        const size = Number(textIn(element, 'Size') ?? NaN)
        if (!Number.isSafeInteger(size) || size < 0) throw this.#invalid(key, 'its list has an object without a size')
        if (compareKeys(key, last) <= 0 || !key.startsWith(this.#prefix + prefix)) {
          throw this.#invalid(key, `its list has this key after ${JSON.stringify(last)}, in a list of ` +
            JSON.stringify(this.#prefix + prefix))
        }
        last = key
        const etag = unquoted(textIn(element, 'ETag'))
        const modified = dateOf(textIn(element, 'LastModified'))
        yield {
          key: key.slice(this.#prefix.length),
          size,
          ...(etag !== undefined && { etag }),
          ...(modified !== undefined && { modified })
        }
      }
      isMore = page.isTruncated
      if (isMore && page.named('Contents').length === 0) throw this.#invalid(last, 'its list goes on without keys')
    }
  }

  /** @param {AbortSignal} [signal] @returns {AsyncGenerator<{ name: string, id: string, begun: Date }>} */
  async * #uploads (signal) {
    let marker = { key: '', id: '' }
    for (let isMore = true; isMore;) {
      const query = /** @type {[string, string][]} */ ([
        ['encoding-type', 'url'], ['max-uploads', String(PAGE)], ['prefix', this.#prefix], ['uploads', '']
      ])
      if (marker.key !== '') query.push(['key-marker', marker.key], ['upload-id-marker', marker.id])
      const page = await this.#page(query, 'ListMultipartUploadsResult', signal)
      for (const element of page.named('Upload')) {
        const name = page.keyIn(element, 'Key')
        const id = textIn(element, 'UploadId') ?? ''
        const begun = dateOf(textIn(element, 'Initiated'))
        if (name.startsWith(this.#prefix) && id !== '' && begun !== undefined) yield { name, id, begun }
      }
      isMore = page.isTruncated
      const next = { key: page.keyIn(page.root, 'NextKeyMarker'), id: textIn(page.root, 'NextUploadIdMarker') ?? '' }
      const isAfter = compareKeys(next.key, marker.key) > 0 || (next.key === marker.key && next.id !== marker.id)
      if (isMore && !isAfter) throw this.#invalid(marker.key, 'its list of uploads does not go on')
      marker = next
    }
  }

  /**
   * Asks for a page of a list.
   *
   * @param {[string, string][]} query @param {string} kind @param {AbortSignal} [signal]
   */
  #page (query, kind, signal) {
    return this.#send({ method: 'GET', query, signal, expected: [200] }, async (_answer, xml) => {
      const root = await xml()
      if (root.name !== kind) throw new Failure(bucketInvalid(this.location, `<${shown(root.name)}> is not <${kind}>`))
      const isEncoded = textIn(root, 'EncodingType') === 'url'
      /** @param {Element} element @param {string} name */
      const keyIn = (element, name) => {
        const text = textIn(element, name) ?? ''
        try {
          return isEncoded ? decodeURIComponent(text.replaceAll('+', ' ')) : text
        } catch {
          throw this.#invalid('', `its list has a key that cannot be decoded: ${shown(text)}`)
        }
      }
      const named = (/** @type {string} */ name) => root.children.filter(child => child.name === name)
      return { root, keyIn, named, isTruncated: textIn(root, 'IsTruncated') === 'true' }
    })
  }

  /** @param {string} name @param {AbortSignal} [signal] @returns {Promise<import('./parts.js').Upload>} */
  async #beginUpload (name, signal) {
    const begun = { method: 'POST', key: name, query: /** @type {[string, string][]} */ ([['uploads', '']]) }
    const id = await this.#send({ ...begun, signal, expected: [200] }, async (_answer, xml) => {
      const text = textIn(await xml(), 'UploadId') ?? ''
      if (text === '') throw this.#invalid(name, 'it begins an upload without an id')
      return text
    })
    const uploadId = /** @type {[string, string]} */ (['uploadId', id])
    return {
      put: (number, body, partSignal) => {
        const query = /** @type {[string, string][]} */ ([['partNumber', String(number)], uploadId])
        const request = { method: 'PUT', key: name, query, body, signal: partSignal, expected: [200] }
        return this.#send(request, async answer => {
          await answer.bytes(MAX_IDLE_LEN)
          const etag = answer.headers.get('etag')
          if (etag !== null) return etag
          throw this.#invalid(name, 'a part has no readable ETag (in pages, CORS must expose it)')
        })
      },
      complete: (etags, partSignal) => {
        const parts = etags.map((etag, i) =>
          `<Part><PartNumber>${i + 1}</PartNumber><ETag>${escaped(etag)}</ETag></Part>`)
        const text = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}` +
          '</CompleteMultipartUpload>'
        const body = new TextEncoder().encode(text)
        const request = { method: 'POST', key: name, query: [uploadId], body, signal: partSignal, expected: [200] }
        return this.#send(request, async (_answer, xml) => this.#completed(name, await xml()))
      },
      abort: () => this.#delete(name, [uploadId])
    }
  }

  /**
   * Reads the answer to the end of an upload, which has status 200 also when it says that the upload failed.
   *
   * @param {string} name @param {Element} root
   */
  #completed (name, root) {
    if (root.name !== 'Error') {
      const etag = unquoted(textIn(root, 'ETag'))
      return { ...(etag !== undefined && { etag }) }
    }
    const code = textIn(root, 'Code') ?? ''
    const location = this.#client.locationOf(name)
    const said = shown(`${code}, ${textIn(root, 'Message') ?? ''}`)
    if (!/^(?:InternalError|SlowDown|ServiceUnavailable)$/.test(code)) {
      throw new Failure(bucketRefused(location, said), { isFinal: true })
    }
    throw new Failure(bucketFailed(location, said), { isUnknown: true })
  }

  /** @param {string} name @param {string} why @returns {BaoError} */
  #invalid (name, why) { return bucketInvalid(this.#client.locationOf(name), why) }
}

/** @param {Headers} headers @param {number} size @returns {ObjectInfo} */
function infoFrom (headers, size) {
  const modified = dateOf(headers.get('last-modified'))
  return { size, ...etagIn(headers), ...(modified !== undefined && { modified }) }
}

/** @param {Headers} headers */
function etagIn (headers) {
  const etag = unquoted(headers.get('etag'))
  return { ...(etag !== undefined && { etag }) }
}

/** An ETag without its quotes, because servers disagree about them. @param {string | null} [etag] */
const unquoted = etag => etag?.replace(/^"(.*)"$/, '$1') || undefined

/** @param {string} etag */
const quoted = etag => isStrong(etag) ? `"${etag}"` : etag

/**
 * True if an ETag names bytes. A weak one never matches `If-Match`, and may be that of several versions.
 *
 * @param {string} [etag]
 */
const isStrong = etag => etag !== undefined && !etag.startsWith('W/')

/** @param {string | null} [text] */
function dateOf (text) {
  const date = new Date(text ?? NaN)
  return Number.isNaN(date.getTime()) ? undefined : date
}

/** @returns {AsyncGenerator<Uint8Array>} */
async function * nothing () {}
