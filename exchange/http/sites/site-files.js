// Finds the files of one site. To save memory, a CID is made only when its file is asked for: as objects, the CIDs of a
// site with many files would take ten times the bytes of their hashes.

import { CID } from 'multiformats/cid'
import { typeOfName } from '../../collections/web/media-types.js'
import { CID_LEN } from '../../collections/web/drisl.js'
import { readResources } from '../../collections/web/resources.js'

/** @import { Collection } from '../../collections/collection.js' */

/**
 * A file of a site, and the headers that are sent with it.
 *
 * @typedef {object} SiteFile
 * @property {CID} src
 * @property {Record<string, string>} headers
 */
/**
 * @typedef {object} SiteFiles
 * @property {(path: string) => SiteFile | undefined} get  finds a file by its path without a leading slash; '' is
 *   the top
 * @property {() => Iterable<string>} names  a name may occur twice
 * @property {boolean} hasFolderName  true if all names may begin with the name of the folder that was imported
 */

/** The headers of a resource that are sent. Others could undo the handler's own headers, or affect other origins. */
const HEADERS = new Set(['content-type', 'content-encoding', 'content-language', 'content-disposition'])

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
    names: () => collection.names(),
    hasFolderName: true
  }
}

/**
 * @param {Uint8Array} bytes  of a manifest. They are kept, so the caller must not change them
 * @returns {SiteFiles}
 * @throws {import('../../../lib/core/errors.js').BaoError} MANIFEST_INVALID
 */
export function filesOfManifest (bytes) {
  const places = /** @type {Map<string, { src: number, headers: Record<string, string> }>} */ (new Map())
  const known = /** @type {Map<string, Record<string, string>>} */ (new Map()) // most resources have equal headers
  readResources(bytes, {
    wanted: HEADERS,
    onResource ({ path, src, headers }) {
      const sent = headers.filter(([, value]) => /^[\x20-\x7e]{1,4096}$/.test(value))
      const key = sent.join('\n')
      const same = known.get(key) ?? Object.fromEntries(sent)
      known.set(key, same)
      places.set(path, { src, headers: same })
    }
  })
  return {
    get (path) {
      const place = places.get(`/${path}`)
      if (place === undefined) return undefined
      return { src: CID.decode(bytes.slice(place.src, place.src + CID_LEN)), headers: place.headers }
    },
    * names () {
      for (const path of places.keys()) yield path.slice(1)
    },
    hasFolderName: false // its paths are those of URLs
  }
}
