// Finds the resources in the bytes of a manifest in one pass, and refuses bytes that are not a manifest. A manifest has
// a map "resources" of paths, or only one resource, which its "src" names. Source: dasl.ing, "MASL".

import { BaoError } from '../../../lib/core/errors.js'
import { DrislReader, TAG, TEXT } from './drisl.js'

/** @import { Span } from './drisl.js' */

/**
 * A resource in the bytes of a manifest.
 *
 * @typedef {object} FoundResource
 * @property {string} path  of the only one in its manifest: `/`
 * @property {number} src  offset of its CID, which has 36 bytes
 * @property {[name: string, value: string][]} headers  the wanted headers whose values are text
 */

/** The one header whose value must be text. */
const TYPE = 'content-type'
const [RESOURCES, SRC, PREV, TYPE_BYTES] = ['resources', 'src', 'prev', TYPE]
  .map(text => new TextEncoder().encode(text))

/** The headers of MASL. In a manifest of one resource, they tell its headers from the fields of the manifest. */
export const HEADERS = new Set([
  'content-disposition', 'content-encoding', 'content-language', 'content-security-policy', TYPE, 'link',
  'permissions-policy', 'referrer-policy', 'service-worker-allowed', 'sourcemap', 'speculation-rules',
  'supports-loading-mode', 'x-content-type-options'
])

/** @param {string} fault @returns {BaoError} */
export const invalid = fault => new BaoError('MANIFEST_INVALID', `this is not a MASL manifest: ${fault}`)

/** Returns true if a value may be a media type. @param {unknown} value */
export const isMediaType = value => typeof value === 'string' && /^[\x20-\x7e]{0,4096}$/.test(value)

/**
 * Reads a whole manifest.
 *
 * @param {Uint8Array} bytes
 * @param {object} [options]
 * @param {number} [options.maxItems]  the maximum number of items of CBOR in it, including keys, tags and their content
 * @param {Set<string>} [options.wanted]  names of the headers to pass to `onResource`
 * @param {(resource: FoundResource) => void} [options.onResource]  called for each resource, in the order of the
 *   manifest
 * @returns {{ isSingle: boolean }} `isSingle`: true if the manifest has one resource, as "src"
 * @throws {BaoError} MANIFEST_INVALID, possibly after calls of `onResource`
 */
export function readResources (bytes, { maxItems = Infinity, wanted = new Set(), onResource = () => {} } = {}) {
  const reader = new DrislReader(bytes, maxItems, invalid)
  const only = new ResourceKeys(reader, wanted)
  let isSingle = true
  reader.eachKey(field => {
    if (reader.is(field, PREV)) {
      reader.cid()
    } else if (!reader.is(field, RESOURCES)) {
      only.read(field)
    } else {
      isSingle = false
      reader.eachKey(key => {
        const path = reader.textAt(key)
        if (!path.startsWith('/')) throw invalid(`expected paths that begin with a slash, got '${path}'`)
        const keys = new ResourceKeys(reader, wanted)
        reader.eachKey(key => keys.read(key))
        onResource(keys.resourceAt(path))
      })
    }
  })
  reader.end()
  if (isSingle) onResource(only.resourceAt('/')) // beside "resources", "src" and headers have no meaning
  return { isSingle }
}

/** The keys of a resource, which are read one after the other. */
class ResourceKeys {
  #reader
  #wanted
  #src = NaN
  #headers = /** @type {FoundResource['headers']} */ ([])
  #isTypeWrong = false

  /** @param {DrislReader} reader @param {Set<string>} wanted */
  constructor (reader, wanted) {
    this.#reader = reader
    this.#wanted = wanted
  }

  /** Reads the value after a key. @param {Span} key */
  read (key) {
    const reader = this.#reader
    if (reader.is(key, SRC) && reader.kind === TAG) {
      this.#src = reader.cid().start
      return
    }
    const name = reader.is(key, TYPE_BYTES) ? TYPE : reader.textAt(key)
    const isHeader = name === TYPE || this.#wanted.has(name)
    const value = isHeader && reader.kind === TEXT ? reader.textAt(reader.text()) : reader.skip()
    if (name === TYPE && !isMediaType(value)) this.#isTypeWrong = true
    if (value !== undefined && this.#wanted.has(name)) this.#headers.push([name, value])
  }

  /** @param {string} path @returns {FoundResource} */
  resourceAt (path) {
    if (Number.isNaN(this.#src)) throw invalid(`the resource at '${path}' has no CID as "src"`)
    if (this.#isTypeWrong) throw invalid(`expected a media type as "content-type" of '${path}'`)
    return { path, src: this.#src, headers: this.#headers }
  }
}
