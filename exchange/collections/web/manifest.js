// The web form of a collection: a MASL manifest, which has a path and HTTP headers for each blob. It is a map in DRISL,
// the strict form of DAG-CBOR, so every manifest has one CID.
// Sources: dasl.ing, "MASL" and "DRISL".

import { decode, encode } from '@ipld/dag-cbor'
import { CID } from 'multiformats/cid'
import { assertBytes, assertInteger, assertOptions, describe } from '../../../lib/core/bytes.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { codecOf, parseCid, parseRoot, toCid } from '../../../lib/hash/cid.js'
import { hash } from '../../../lib/hash/hasher.js'
import { assertMany } from '../../../lib/async/in-order.js'
import { Collection } from '../collection.js'
import { encodeName } from '../meta.js'
import { typeOfName } from './media-types.js'
import { DRISL, DrislReader, isDasl } from './drisl.js'
import { HEADERS, isMediaType, readResources } from './resources.js'

/** @import { BlobName } from '../../../lib/hash/cid.js' */

/**
 * The default of `maxItems`: about 300 000 resources with a media type, each of which has seven CBOR items.
 */
const MAX_ITEMS = 1 << 21

/** @typedef {{ src: CID, 'content-type'?: string, [header: string]: unknown }} Resource  a blob and its HTTP headers */
/** @typedef {{ src: BlobName, 'content-type'?: string, [header: string]: unknown }} NewResource */

/** Paths of blobs, with their headers. A manifest never changes. */
export class Manifest {
  #resources
  #fields
  #bytes

  /** True if the manifest has only one resource, as its `src`. `get` finds it at `/`. */
  isSingle

  /**
   * Call `Manifest.from` instead.
   *
   * @param {Map<string, Resource>} resources @param {Record<string, unknown>} fields
   * @param {{ isSingle?: boolean, bytes?: Uint8Array<ArrayBuffer> }} [form]  `bytes`: those that were read, because
   *   JavaScript would write some values in another way, for example 1.0 as 1
   */
  constructor (resources, fields, { isSingle = false, bytes } = {}) {
    this.#resources = resources
    this.#fields = fields
    this.isSingle = isSingle
    this.#bytes = bytes ?? encoded(isSingle
      ? { ...fields, ...resources.get('/') }
      : { ...fields, resources: Object.fromEntries(resources) })
  }

  /**
   * Makes a manifest.
   *
   * @param {Iterable<[path: string, resource: NewResource]>} resources  a path begins with a slash. The resource at `/`
   *   is what a server shows for the manifest itself. `src` is a BLAKE3 name, or a CID of SHA2-256, as base DASL has
   *   it. All other keys are HTTP headers in lower case
   * @param {Record<string, unknown>} [fields]  other fields of the map, for example `name` and `description`
   * @returns {Manifest}
   * @throws {TypeError | RangeError} for wrong paths and headers
   * @throws {BaoError} CID_UNSUPPORTED
   */
  static from (resources, fields = {}) {
    assertMany('resources', resources, 'pairs of a path and a resource')
    assertOptions('fields', fields, '{ name, ... }')
    const map = /** @type {Map<string, Resource>} */ (new Map())
    for (const [path, resource] of resources) {
      encodeName(path) // only to check it
      if (!path.startsWith('/')) {
        throw new TypeError(`"resources" expected paths that begin with a slash, got '${path}'`)
      }
      map.set(path, resourceFrom(resource))
    }
    if ('resources' in fields) throw new TypeError('"fields" has "resources" already')
    return new Manifest(map, { ...fields })
  }

  /**
   * Makes a manifest of one resource, whose headers are beside the other fields.
   *
   * @param {NewResource} resource @param {Record<string, unknown>} [fields]  as for `from`
   * @returns {Manifest} that has the resource at `/`
   * @throws {TypeError} for wrong headers and fields
   * @throws {BaoError} CID_UNSUPPORTED
   */
  static single (resource, fields = {}) {
    assertOptions('fields', fields, '{ name, ... }')
    for (const name of ['src', 'resources']) {
      if (name in fields) throw new TypeError(`"fields" must not have "${name}"`)
    }
    return new Manifest(...splitSingle({ ...fields, ...resourceFrom(resource) }), { isSingle: true })
  }

  /**
   * Reads a manifest. Refuses values in another form than DRISL has for them.
   *
   * @param {Uint8Array} bytes
   * @param {{ maxItems?: number }} [options]  `maxItems`: the maximum number of items of CBOR in it. Default:
   *   2 097 152, which is about 300 000 resources
   * @returns {Manifest}
   * @throws {BaoError} MANIFEST_INVALID
   */
  static fromBytes (bytes, options = {}) {
    assertBytes('bytes', bytes)
    assertKnownOptions(options, ['maxItems'])
    const { maxItems = MAX_ITEMS } = options
    assertInteger('maxItems', maxItems)
    const form = { ...readResources(bytes, { maxItems }), bytes: new Uint8Array(bytes) }
    const root = decode(bytes)
    if (form.isSingle) return new Manifest(...splitSingle(root), form)
    const { resources, ...fields } = root
    const map = /** @type {Map<string, Resource>} */ (new Map(Object.entries(resources)))
    for (const resource of map.values()) Object.freeze(resource)
    return new Manifest(map, fields, form)
  }

  /**
   * Makes the web form of a collection. Media types follow from the names.
   *
   * @param {Collection} collection
   * @param {{ folder?: string, index?: string, fields?: Record<string, unknown> }} [options]  `folder`: take only the
   *   files in this folder, which becomes the top. `index`: the name of the file that is also at `/`. Default:
   *   `index.html`
   * @returns {Manifest} if a name occurs twice, the manifest has only the first entry
   */
  static fromCollection (collection, options = {}) {
    if (!(collection instanceof Collection)) {
      throw new TypeError(`"collection" expected a Collection, got ${describe(collection)}`)
    }
    assertKnownOptions(options, ['folder', 'index', 'fields'])
    const { folder, index = 'index.html', fields } = options
    const start = folder === undefined ? '' : `${folder}/`
    const resources = /** @type {Map<string, NewResource>} */ (new Map())
    const add = (/** @type {string} */ path, /** @type {string} */ name, /** @type {CID} */ src) => {
      const type = typeOfName(name)
      if (!resources.has(path)) resources.set(path, { src, ...type !== undefined && { 'content-type': type } })
    }
    for (const [name, src] of collection) {
      if (!name.startsWith(start)) continue
      const path = name.slice(start.length)
      add(`/${path}`, path, src)
      if (path === index) add('/', path, src)
    }
    return Manifest.from(resources, fields)
  }

  /**
   * Makes a collection of iroh that has the same blobs, with their names but without headers.
   *
   * @param {{ index?: string }} [options]  the same as those of `files`
   * @returns {Collection}
   * @throws {BaoError} CID_UNSUPPORTED for a `src` of a hash function other than BLAKE3
   */
  toCollection (options) { return Collection.from(this.files(options)) }

  /**
   * The resources as files. The name of a file is the path of its resource without the leading slash.
   *
   * @param {{ index?: string }} [options]  `index`: the name of the resource at `/`, unless the same resource also has
   *   another path. Default: `index.html`
   * @returns {[name: string, src: CID][]}
   */
  files (options = {}) {
    assertKnownOptions(options, ['index'])
    const { index = 'index.html' } = options
    const files = /** @type {[string, CID][]} */ ([])
    for (const [path, { src }] of this.#resources) {
      const hasOther = path === '/' && [...this.#resources].some(([other, at]) => other !== '/' && at.src.equals(src))
      if (!hasOther) files.push([path === '/' ? index : path.slice(1), src])
    }
    return files
  }

  /** The number of resources. */
  get length () { return this.#resources.size }

  /** The CID of the manifest, with the codec of DRISL. */
  get cid () { return toCid(hash(this.toBytes()), DRISL) }

  /** A copy of the fields of the map, without the resources. */
  get fields () { return { ...this.#fields } }

  /** The bytes of the manifest. @returns {Uint8Array<ArrayBuffer>} the caller must not change them */
  toBytes () { return this.#bytes }

  /** The resource at a path. @param {string} path  that begins with a slash @returns {Resource | undefined} */
  get (path) { return this.#resources.get(path) }

  /** The resources with their paths. @returns {IterableIterator<[path: string, resource: Resource]>} */
  entries () { return this.#resources.entries() }

  [Symbol.iterator] () { return this.entries() }
}

/**
 * The CID of a resource's blob.
 *
 * @param {BlobName} src  or a CID of another hash function that DASL allows
 * @returns {CID}
 * @throws {BaoError} CID_UNSUPPORTED
 */
function sourceOf (src) {
  const root = () => toCid(parseRoot(src, 'src'))
  const isName = CID.asCID(src) !== null || typeof src === 'string' || src instanceof Uint8Array
  if (!isName || codecOf(src) === undefined) return root()
  const cid = parseCid(src)
  return isDasl(cid) ? cid : root()
}

/** @param {NewResource} resource @returns {Resource} frozen */
function resourceFrom (resource) {
  assertOptions('resource', resource, '{ src, ... }')
  const { src, ...headers } = resource
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase()
    if (name !== lower && HEADERS.has(lower)) throw new TypeError(`"resource" expected '${lower}', got '${name}'`)
    if (name === 'content-type' && !isMediaType(value)) {
      throw new TypeError(`"content-type" expected a media type, got ${describe(value)}`)
    }
  }
  return Object.freeze({ src: sourceOf(src), ...headers })
}

/**
 * Separates the only resource of a manifest from the fields beside it.
 *
 * @param {Record<string, unknown>} root
 * @returns {[resources: Map<string, Resource>, fields: Record<string, unknown>]}
 */
function splitSingle (root) {
  const isOfResource = (/** @type {[name: string, value: unknown]} */ [name]) => name === 'src' || HEADERS.has(name)
  const entries = Object.entries(root)
  const resource = /** @type {Resource} */ (Object.fromEntries(entries.filter(isOfResource)))
  const fields = Object.fromEntries(entries.filter(entry => !isOfResource(entry)))
  return [new Map([['/', Object.freeze(resource)]]), fields]
}

/**
 * @param {Record<string, unknown>} root  the map of a manifest
 * @returns {Uint8Array<ArrayBuffer>}
 * @throws {TypeError} for values that DRISL does not have
 */
function encoded (root) {
  const bytes = new Uint8Array(encode(root))
  const reader = new DrislReader(bytes, Infinity, fault => new TypeError(`the manifest cannot be written: ${fault}`))
  reader.skip()
  return bytes
}
