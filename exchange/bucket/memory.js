// A bucket in memory, for tests: of this package, and of programs that use buckets.

import { assertBytes, concat } from '../../lib/core/bytes.js'
import { fetchChanged } from '../../lib/core/errors.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { assertSeconds, assertTime, headersInQuery, rangeOf } from './bucket.js'
import { compareKeys, fullKey, startOfKeys } from './keys.js'
import { putInParts } from './parts.js'

/** @import { Bucket, ObjectInfo } from './bucket.js' */

/** @typedef {{ bytes: Uint8Array, etag: string, modified: Date }} Stored */

/** How many bytes a piece of a body has. */
const PIECE_LEN = 1 << 16

/**
 * Makes a bucket that is empty, and gone when the process ends. It keeps all promises of `Bucket`.
 *
 * @returns {Bucket}
 */
export function memoryBucket () { return new MemoryBucket() }

/** @implements {Bucket} */
class MemoryBucket {
  #objects = /** @type {Map<string, Stored>} */ (new Map())
  #versions = 0
  location = 'memory'

  /** @type {Bucket['get']} */
  async get (key, range, options = {}) {
    fullKey(key)
    const { start, end } = rangeOf(range)
    assertKnownOptions(options, ['ifMatch', 'signal'])
    options.signal?.throwIfAborted()
    const stored = this.#objects.get(key)
    if (stored === undefined) return undefined
    if ((options.ifMatch ?? stored.etag) !== stored.etag) throw fetchChanged(`memory:${key}`)
    const bytes = stored.bytes.subarray(start, end)
    const from = Math.min(start, stored.bytes.length)
    return { ...infoOf(stored), range: { start: from, end: from + bytes.length }, body: bodyOf(bytes, options.signal) }
  }

  /** @type {Bucket['head']} */
  async head (key, options = {}) {
    fullKey(key)
    assertKnownOptions(options, ['signal'])
    options.signal?.throwIfAborted()
    const stored = this.#objects.get(key)
    return stored && infoOf(stored)
  }

  /** @type {Bucket['put']} */
  async put (key, body, options = {}) {
    fullKey(key)
    assertBytes('body', body)
    assertKnownOptions(options, ['ifAbsent', 'type', 'signal'])
    options.signal?.throwIfAborted()
    if (options.ifAbsent && this.#objects.has(key)) return { isWritten: false }
    return { isWritten: true, etag: this.#set(key, new Uint8Array(body)) }
  }

  /** @type {Bucket['putParts']} */
  async putParts (key, source, options = {}) {
    fullKey(key)
    assertKnownOptions(options, ['size', 'signal'])
    const keep = async (/** @type {Uint8Array} */ bytes) => ({ etag: this.#set(key, new Uint8Array(bytes)) })
    /** @type {Uint8Array[]} */
    const parts = []
    return putInParts(source, options, {
      location: `memory:${key}`,
      putWhole: keep,
      begin: async () => ({
        async put (number, bytes) {
          parts[number - 1] = bytes
          return ''
        },
        complete: () => keep(concat(parts)),
        async abort () {}
      })
    })
  }

  /** @type {Bucket['delete']} */
  async delete (key, options = {}) {
    fullKey(key)
    assertKnownOptions(options, ['signal'])
    options.signal?.throwIfAborted()
    this.#objects.delete(key)
  }

  /** @type {Bucket['list']} */
  list (prefix, after, options = {}) {
    assertKnownOptions(options, ['signal'])
    return this.#list(startOfKeys('prefix', prefix), startOfKeys('after', after), options.signal)
  }

  /** @param {string} prefix @param {string} after @param {AbortSignal} [signal] */
  async * #list (prefix, after, signal) {
    const keys = [...this.#objects.keys()].filter(key => key.startsWith(prefix) && compareKeys(key, after) > 0)
    for (const key of keys.sort(compareKeys)) {
      signal?.throwIfAborted()
      const stored = this.#objects.get(key)
      if (stored !== undefined) yield { key, ...infoOf(stored) }
    }
  }

  /** Nothing is left by an upload. @type {Bucket['abortUploads']} */
  async abortUploads (olderThan, options = {}) {
    assertTime(olderThan)
    assertKnownOptions(options, ['signal'])
    return 0
  }

  /** @type {Bucket['url']} */
  async url (key, seconds, options) {
    fullKey(key)
    assertSeconds(seconds)
    headersInQuery(options)
    return undefined
  }

  /** @param {string} key @param {Uint8Array} bytes */
  #set (key, bytes) {
    const etag = `v${++this.#versions}`
    this.#objects.set(key, { bytes, etag, modified: new Date() })
    return etag
  }
}

/** @param {Stored} stored @returns {ObjectInfo} */
const infoOf = ({ bytes, etag, modified }) => ({ size: bytes.length, etag, modified })

/** @param {Uint8Array} bytes @param {AbortSignal} [signal] @returns {AsyncGenerator<Uint8Array>} */
async function * bodyOf (bytes, signal) {
  for (let at = 0; at < bytes.length; at += PIECE_LEN) {
    signal?.throwIfAborted()
    yield bytes.slice(at, at + PIECE_LEN)
  }
}
