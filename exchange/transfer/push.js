// Sends a server the blobs that it does not have yet. The server must accept uploads, as the handler of `baobox/http`
// does.

import { HASH_LEN } from '../../lib/core/constants.js'
import { assertInteger, assertOptions, concat } from '../../lib/core/bytes.js'
import { BaoError, fetchFailed, fetchRefused, fetchStatus } from '../../lib/core/errors.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { HASHSEQ, RAW, parseRoot, toCid } from '../../lib/hash/cid.js'
import { nameOf } from '../../lib/hash/roots.js'
import { eitherOf } from '../../lib/source/async-util.js'
import { endOverEncoded } from '../../verifier/sources/http/encodings.js'
import { locationOf, urlOf } from '../../verifier/sources/http/urls.js'
import { FILE_FROM, LOOKUP_COUNT, assertStore, missing, notFound } from '../../store/interface.js'
import { within } from '../time-limits.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName } from '../../lib/hash/cid.js' */
/** @import { ProgressOptions } from '../../lib/core/types.js' */
/** @import { Store } from '../../store/interface.js' */

/**
 * @typedef {object} PushParts
 * @property {string | URL} to  the URL of a server, or of a path on it. A blob is at `blobs/CID` below this URL
 * @property {boolean} [recursive]  true to send the members, too, of a sequence of hashes or a collection. Default:
 *   false
 * @property {number} [parallel]  requests at a time, 1 to 64. Default: 4
 * @property {typeof globalThis.fetch} [fetch]  replaces the runtime's. It gets `redirect: 'manual'`
 * @property {ConstructorParameters<typeof Headers>[0]} [headers]  of every request, such as an `Authorization`. No
 *   redirect is followed, so no other server gets them
 */
/**
 * @typedef {PushParts & ProgressOptions} PushOptions  `onProgress` gets `baobox:push`, which counts the bytes that were
 *   sent, and those that the server already had
 */
/**
 * @typedef {object} PushResult
 * @property {CID} cid  of the blob; with `recursive` it has the codec of hash sequences
 * @property {number} size  bytes of the blob and, with `recursive`, of its members, even those that the server already
 *   had. Each blob counts once
 * @property {number} blobs  how many blobs were sent
 * @property {number} bytes  that were sent
 */

/** @typedef {{ root: Uint8Array, size: number }} WholeBlob */

const OPTIONS = ['to', 'recursive', 'parallel', 'fetch', 'headers', 'signal', 'onProgress']
const DEFAULT_PARALLEL = 4
const MAX_PARALLEL = 64

/**
 * Sends a blob to a server, unless the server has the blob. Nothing is sent until all blobs are known to be complete in
 * the store. Members are sent before the sequence that names them. If the call is interrupted, call it again: it does
 * not send a second time what the server has.
 *
 * @param {Store} store
 * @param {BlobName} cid
 * @param {PushOptions} options
 * @returns {Promise<PushResult>}
 * @throws {BaoError} STORE_NOT_FOUND, STORE_MISSING, STORE_CORRUPT; HASHSEQ_INVALID { cid, len }; FETCH_FAILED {
 *   location, cause }, FETCH_STATUS { location, status }; FETCH_REFUSED { location } when a server takes an upload, and
 *   does not have the blob then
 */
export async function push (store, cid, options) {
  assertStore(store)
  assertOptions('options', options, '{ to, ... }')
  assertKnownOptions(options, OPTIONS)
  const { to, recursive = false, parallel = DEFAULT_PARALLEL, signal } = options
  const root = parseRoot(cid, 'cid')
  assertInteger('parallel', parallel, 1, MAX_PARALLEL)
  const uploads = new Uploads(store, urlOf(to, { name: 'to' }), options)
  signal?.throwIfAborted()
  endOverEncoded()
  const hold = store.tempTag(root, { format: recursive ? 'hashseq' : 'raw' })
  try {
    const [blob] = await wholeBlobs(store, [root])
    const members = recursive ? await membersOf(store, blob, signal) : []
    uploads.total = members.reduce((sum, { size }) => sum + size, blob.size)
    await uploads.sendAll(members, parallel)
    await uploads.sendAll([blob], 1)
    const { blobs, bytes, total: size } = uploads
    return { cid: toCid(root, recursive ? HASHSEQ : RAW), size, blobs, bytes }
  } finally {
    hold.release()
  }
}

/**
 * @param {Store} store @param {Uint8Array[]} roots
 * @returns {Promise<WholeBlob[]>}
 * @throws {BaoError} STORE_NOT_FOUND, STORE_MISSING if the store lacks one of them, or a part of one
 */
async function wholeBlobs (store, roots) {
  const found = await store.statMany(roots)
  return Promise.all(roots.map(async (root, i) => {
    const stat = found[i]
    if (stat === undefined) throw notFound(root)
    if (!stat.complete) throw missing(root, stat.size, await store.missing(root))
    return { root, size: stat.size }
  }))
}

/**
 * The members of a sequence, each once.
 *
 * @param {Store} store @param {WholeBlob} sequence @param {AbortSignal} [signal]
 */
async function membersOf (store, { root, size }, signal) {
  if (size % HASH_LEN !== 0) {
    const cid = toCid(root)
    const message = `${cid} is not a sequence of hashes: its size, ${size} bytes, is not a multiple of ${HASH_LEN}`
    throw new BaoError('HASHSEQ_INVALID', message, { cid, len: size })
  }
  const members = /** @type {Map<string, WholeBlob>} */ (new Map())
  const step = HASH_LEN * LOOKUP_COUNT
  for (let start = 0; start < size; start += step) {
    signal?.throwIfAborted()
    const hashes = await store.bytes(root, { start, end: Math.min(start + step, size) }, { signal })
    const roots = []
    for (let at = 0; at < hashes.length; at += HASH_LEN) roots.push(hashes.slice(at, at + HASH_LEN))
    for (const member of await wholeBlobs(store, roots)) members.set(nameOf(member.root), member)
  }
  return [...members.values()]
}

/** The requests to one server. */
class Uploads {
  #store
  #base
  #fetch
  #headers
  #onProgress
  #signal
  /** Ends the requests that are under way when one has failed. */
  #ending = new AbortController()
  /** Bytes that were sent, or that the server already had. */
  #done = 0
  total = 0
  blobs = 0
  bytes = 0

  /** @param {Store} store @param {URL} to @param {PushOptions} options */
  constructor (store, to, { fetch = globalThis.fetch, headers, signal, onProgress }) {
    if (to.search !== '' || to.hash !== '') throw new TypeError('"to" expected a URL without a query or fragment')
    this.#store = store
    this.#base = new URL(`${to.href.replace(/\/+$/, '')}/blobs/`)
    this.#fetch = fetch
    this.#headers = new Headers(headers)
    this.#onProgress = onProgress
    const { signal: ending } = this.#ending
    this.#signal = eitherOf(signal, ending)
  }

  /** @param {WholeBlob[]} blobs @param {number} parallel  requests at a time */
  async sendAll (blobs, parallel) {
    let next = 0
    const work = async () => {
      try {
        while (next < blobs.length) await this.#send(blobs[next++])
      } catch (error) {
        this.#ending.abort(error)
        throw error
      }
    }
    const results = await Promise.allSettled(Array.from({ length: parallel }, work))
    if (results.some(({ status }) => status === 'rejected')) throw this.#signal.reason
  }

  /** @param {WholeBlob} blob */
  async #send ({ root, size }) {
    const url = new URL(`${toCid(root)}`, this.#base)
    let rest = size
    /** @param {number} len  how many more bytes were sent */
    const onSent = len => {
      rest -= len
      this.#progress(len)
    }
    if (!await this.#isThere(url, size)) {
      const isShort = size <= FILE_FROM
      const response = await (isShort ? this.#putBytes(url, root) : this.#putStream(url, { root, size }, onSent))
      if (!response.ok) throw await statusErrorOf(url, response)
      // A server that has nothing to do with blobs may also answer with 200.
      const { cid } = await jsonOf(response)
      if (cid !== `${toCid(root)}` && !await this.#isThere(url, size)) {
        throw fetchRefused(locationOf(url), 'it took the upload, and does not say that it has the blob')
      }
      this.blobs++
      this.bytes += size
    }
    if (rest > 0) this.#progress(rest)
  }

  /** True if the server says that it has the whole blob. @param {URL} url @param {number} size  of the blob */
  async #isThere (url, size) {
    const { status, ok, headers } = await this.#request(url, { method: 'HEAD' })
    // A client that may upload is not always allowed to read.
    if (!ok && ![401, 403, 404].includes(status)) throw fetchStatus(locationOf(url), status)
    return status === 200 && [null, `${size}`].includes(headers.get('content-length'))
  }

  /** @param {URL} url @param {Uint8Array} root */
  async #putBytes (url, root) {
    const body = await this.#store.bytes(root, undefined, { signal: this.#signal })
    return this.#request(url, { method: 'PUT', body })
  }

  /** @param {URL} url @param {WholeBlob} blob @param {(len: number) => void} onSent */
  async #putStream (url, { root, size }, onSent) {
    let failure
    const pieces = this.#store.get(root, undefined, { signal: this.#signal })
    const body = new ReadableStream({
      async pull (controller) {
        try {
          const { value } = await pieces.next()
          if (value === undefined) return controller.close()
          controller.enqueue(value)
          onSent(value.length)
        } catch (error) {
          failure = error
          throw error
        }
      },
      async cancel () { await pieces.return(undefined) }
    }, { highWaterMark: 0 })
    try {
      return await this.#request(url, {
        method: 'PUT', body, duplex: 'half', headers: { 'content-length': `${size}` }
      })
    } catch (error) {
      throw failure ?? error // the connection has failed because the blob cannot be read
    } finally {
      await pieces.return(undefined)
    }
  }

  /**
   * @param {URL} url @param {RequestInit & { duplex?: 'half', headers?: Record<string, string> }} init
   * @returns {Promise<Response>}
   */
  async #request (url, { headers: more = {}, ...init }) {
    this.#signal.throwIfAborted()
    const headers = new Headers(this.#headers)
    for (const [name, value] of Object.entries(more)) headers.set(name, value)
    const fetch = this.#fetch
    try {
      return await fetch(url, { redirect: 'manual', ...init, headers, signal: this.#signal })
    } catch (error) {
      this.#signal.throwIfAborted()
      throw fetchFailed(locationOf(url), error)
    }
  }

  /** @param {number} len  how many more bytes were sent */
  #progress (len) {
    this.#done += len
    const { total } = this
    this.#onProgress?.({ type: 'baobox:push', detail: { done: this.#done, total, unit: 'bytes' } })
  }
}

/** The maximum bytes of an answer that are read, and the milliseconds that they may take. */
const MAX_ANSWER_LEN = 1 << 14
const ANSWER_MS = 10_000

/**
 * The error of an answer. The code that a handler gives says more than the status. The rest of the text is not trusted.
 *
 * @param {URL} url @param {Response} response
 */
export async function statusErrorOf (url, response) {
  const error = fetchStatus(locationOf(url), response.status)
  const { code } = await jsonOf(response)
  if (typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code)) error.message += ` (${code})`
  return error
}

/**
 * The object in an answer; an empty one if the answer is not JSON, or is too long or too slow.
 *
 * @param {Response} response
 * @returns {Promise<Record<string, any>>}
 */
async function jsonOf ({ body }) {
  const reader = body?.getReader()
  if (reader === undefined) return {}
  try {
    return await within(readJson(reader), ANSWER_MS, () => { throw new Error('the answer is slow') }) ?? {}
  } catch {
    return {}
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** @param {ReadableStreamDefaultReader<Uint8Array>} reader */
async function readJson (reader) {
  const parts = []
  for (let len = 0; len <= MAX_ANSWER_LEN;) {
    const { done, value } = await reader.read()
    if (done) return JSON.parse(new TextDecoder().decode(concat(parts)))
    parts.push(value)
    len += value.length
  }
}
