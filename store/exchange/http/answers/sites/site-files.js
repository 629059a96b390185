// The files of one site, in little memory: a CID is made when its file is asked for. As objects, the CIDs of a long
// site would take ten times the bytes of their hashes.

import { CID } from 'multiformats/cid'
import { typeOfName } from '../../../collections/web/media-types.js'

/** @import { Collection } from '../../../collections/collection.js' */
/** @import { Manifest, Resource } from '../../../collections/web/manifest.js' */

/**
 * A file of a site. `headers` say what it is.
 *
 * @typedef {object} SiteFile
 * @property {CID} src
 * @property {Record<string, string>} headers
 */
/**
 * @typedef {object} SiteFiles
 * @property {(path: string) => SiteFile | undefined} get  by path, without a slash in front; `` is what is shown for
 *   the top
 * @property {() => Iterable<string>} names  some may come twice
 */

/** Bytes of any CID in a manifest: version, codec, name and length of the hash, and the hash. */
const CID_LEN = 36
/** Headers of a resource that are sent. Others might undo what the handler says, or have meaning for other origins. */
const HEADERS = ['content-type', 'content-encoding', 'content-language', 'content-disposition']

/** @param {Collection} collection @returns {SiteFiles} */
export function filesOfCollection (collection) {
  return {
    get (path) {
      const src = collection.get(path)
      if (src === undefined) return undefined
      const type = typeOfName(path)
      /** @type {Record<string, string>} */
      const headers = type === undefined ? {} : { 'content-type': type }
      return { src, headers }
    },
    names: () => collection.names()
  }
}

/** @param {Manifest} manifest @returns {SiteFiles} */
export function filesOfManifest (manifest) {
  const places = /** @type {Map<string, number>} */ (new Map())
  const cids = new Uint8Array(manifest.length * CID_LEN)
  const headers = /** @type {Record<string, string>[]} */ ([])
  const known = /** @type {Map<string, Record<string, string>>} */ (new Map()) // few are different
  for (const [path, resource] of manifest) {
    const place = headers.length
    const sent = sentOf(resource)
    const key = JSON.stringify(sent)
    if (!known.has(key)) known.set(key, sent)
    headers.push(known.get(key) ?? sent)
    cids.set(resource.src.bytes, place * CID_LEN)
    places.set(path, place)
  }
  return {
    get (path) {
      const place = places.get(`/${path}`)
      if (place === undefined) return undefined
      const src = CID.decode(cids.slice(place * CID_LEN, (place + 1) * CID_LEN))
      return { src, headers: headers[place] }
    },
    * names () {
      for (const path of places.keys()) yield path.slice(1)
    }
  }
}

/** The headers that are sent with a file. @param {Resource} resource */
function sentOf (resource) {
  const sent = /** @type {Record<string, string>} */ ({})
  for (const name of HEADERS) {
    const value = resource[name]
    if (typeof value === 'string' && /^[\x20-\x7e]{1,4096}$/.test(value)) sent[name] = value
  }
  return sent
}
