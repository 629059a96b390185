// Finds the route for a path. It does not need the store.

import { badRequest, noRoute } from './errors.js'
import { isName } from './names.js'

/** @typedef {'blobs' | 'plain' | 'ipfs' | 'rasl' | 'oci'} Family  `plain`: at the top, under the hash */
/**
 * @typedef {object} BlobRoute
 * @property {'blob'} kind
 * @property {Family} family
 * @property {string} name  of the blob, decoded
 * @property {number} [groupLog]  of the outboard, if it is wanted instead of the blob
 * @property {string} topUrl  the relative URL of the top: `../` as often as needed
 */
/**
 * @typedef {object} SiteRoute  a file of a collection or manifest
 * @property {'site'} kind
 * @property {string} name  of the collection, decoded
 * @property {string} path  of the file, decoded, without a leading slash; with a trailing one it is a folder
 * @property {string | undefined} rest  the path of the file, not decoded; undefined without a slash after the name
 */
/** @typedef {{ kind: 'mounted', path: string }} MountedRoute  a file of the site at the top; `path` as in SiteRoute */
/** @typedef {{ kind: 'tag', name: string }} TagRoute */
/** @typedef {BlobRoute | SiteRoute | MountedRoute | TagRoute | { kind: 'list' | 'tags' | 'registry' }} Route */

/** The maximum number of characters in a URL. */
export const MAX_URL_LEN = 4096
/** First segments that never lead to the site at the top. */
const RESERVED = ['blobs', 'collections', 'ipfs', 'v2']
const OUTBOARD = /^(.+)\.obao(\d|1[0-6])$/

/**
 * @param {string} path  that begins with a slash
 * @param {{ hasSite: boolean, hasTags: boolean }} options  `hasSite`: true if there is a site at the top; `hasTags`:
 *   true if there are routes of tags
 * @returns {Route}
 * @throws {import('./errors.js').HttpError} 404, and 400 for a path that cannot be decoded
 */
export function routeOf (path, { hasSite, hasTags }) {
  const [, ...segments] = path.split('/')
  const last = segments[segments.length - 1]
  const [first, second] = segments
  if (hasTags && first === 'tags' && segments.length < 3) return tagRoute(second)
  if (hasSite && !isReserved(segments)) return { kind: 'mounted', path: pathOf(segments) }
  if (path === '/blobs') return { kind: 'list' }
  if (path === '/v2/') return { kind: 'registry' }
  if (first === 'collections' && segments.length > 1) return siteRoute(segments)
  const family = familyOf(first, second, segments)
  if (family === undefined || last === '') throw noRoute()
  const hasOutboards = family === 'blobs' || family === 'plain'
  const outboard = hasOutboards ? OUTBOARD.exec(last) : null
  return {
    kind: 'blob',
    family,
    name: decoded(outboard === null ? last : outboard[1]),
    groupLog: outboard === null ? undefined : Number(outboard[2]),
    topUrl: '../'.repeat(segments.length - 1)
  }
}

/** True if a path is for blobs even if there is a site at the top. @param {string[]} segments */
function isReserved (segments) {
  const [first, second] = segments
  if (segments.length > 1) return RESERVED.includes(first) || (first === '.well-known' && second === 'rasl')
  return first === 'blobs' || isName(decoded(OUTBOARD.exec(first)?.[1] ?? first))
}

/** @param {string} [name]  encoded @returns {Route} */
function tagRoute (name) {
  if (name === undefined) return { kind: 'tags' }
  if (name === '') throw noRoute()
  return { kind: 'tag', name: decoded(name) }
}

/** @param {string[]} segments @returns {SiteRoute} */
function siteRoute ([, name, ...rest]) {
  return {
    kind: 'site', name: decoded(name), path: pathOf(rest), rest: rest.length === 0 ? undefined : rest.join('/')
  }
}

/**
 * Decodes the parts of a path once. Only the slashes of the path itself separate folders. So if a decoded part has a
 * slash, or is special in a file system, such as `..`, the path does not have a route.
 *
 * @param {string[]} segments
 */
function pathOf (segments) {
  const parts = segments.map(decoded)
  const isOdd = (/** @type {string} */ part, /** @type {number} */ i) =>
    part === '.' || part === '..' || /[/\\\0]/.test(part) || (part === '' && i < parts.length - 1)
  if (parts.some(isOdd)) throw noRoute()
  return parts.join('/')
}

/** @param {string} first @param {string} second @param {string[]} segments @returns {Family | undefined} */
function familyOf (first, second, segments) {
  if (segments.length === 1) return 'plain'
  if (segments.length === 2 && (first === 'blobs' || first === 'ipfs')) return first
  if (segments.length === 3 && first === '.well-known' && second === 'rasl') return 'rasl'
  return segments.length > 3 && first === 'v2' && segments[segments.length - 2] === 'blobs' ? 'oci' : undefined
}

/** @param {string} segment */
function decoded (segment) {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw badRequest('the path is not encoded well')
  }
}
