// Finds the route for a path. It does not need the store.

import { badRequest, noRoute } from './errors.js'
import { isName } from './names.js'

/** @typedef {'blobs' | 'plain' | 'ipfs' | 'rasl' | 'oci'} Family  `plain`: at the top, under the hash */
/**
 * @typedef {object} BlobRoute
 * @property {'blob'} kind
 * @property {Family} family
 * @property {string} name  of the blob, decoded
 * @property {string} written  the name as the path has it
 * @property {number} [groupLog]  of the outboard, if it is wanted instead of the blob
 * @property {string} top  the relative URL of the folder of all routes, such as `../../`
 */
/**
 * @typedef {object} SiteRoute  a file of a collection or manifest
 * @property {'site'} kind
 * @property {string} name  of the collection, decoded
 * @property {string} written  the name as the path has it
 * @property {string} path  of the file, decoded, without a leading slash; that of a folder has a slash at its end
 * @property {string | undefined} rest  the path of the file, not decoded; undefined without a slash after the name
 */
/** @typedef {{ kind: 'mounted', path: string }} MountedRoute  a file of the site at the top; `path` as in SiteRoute */
/** @typedef {BlobRoute | SiteRoute | MountedRoute | { kind: 'list' } | { kind: 'registry' }} Route */

/** The maximum number of characters in a URL. */
export const MAX_URL_LEN = 4096
/** First segments that never lead to the site at the top. */
const RESERVED = ['blobs', 'collections', 'ipfs', 'v2']
const OUTBOARD = /^(.+)\.obao(\d|1[0-6])$/

/**
 * @param {string} path  that begins with a slash
 * @param {{ hasSite: boolean }} options  `hasSite`: true if there is a site at the top
 * @returns {Route}
 * @throws {import('./errors.js').HttpError} 404, and 400 for a path that cannot be decoded
 */
export function routeOf (path, { hasSite }) {
  const [, ...segments] = path.split('/')
  const last = segments[segments.length - 1]
  const [first, second] = segments
  if (hasSite && !isReserved(segments)) return { kind: 'mounted', path: pathOf(segments) }
  if (path === '/blobs') return { kind: 'list' }
  if (path === '/v2/') return { kind: 'registry' }
  if (first === 'collections' && segments.length > 1) return siteRoute(segments)
  const family = familyOf(first, second, segments)
  if (family === undefined || last === '') throw noRoute()
  const hasOutboards = family === 'blobs' || family === 'plain'
  const outboard = hasOutboards ? OUTBOARD.exec(last) : null
  const written = outboard === null ? last : outboard[1]
  return {
    kind: 'blob',
    family,
    written,
    name: decoded(written),
    groupLog: outboard === null ? undefined : Number(outboard[2]),
    top: '../'.repeat(segments.length - 1)
  }
}

/** True if a path is for blobs even if there is a site at the top. @param {string[]} segments */
function isReserved (segments) {
  const [first, second] = segments
  if (segments.length > 1) return RESERVED.includes(first) || (first === '.well-known' && second === 'rasl')
  return first === 'blobs' || isName(decoded(OUTBOARD.exec(first)?.[1] ?? first))
}

/** @param {string[]} segments @returns {SiteRoute} */
function siteRoute ([, written, ...rest]) {
  const path = pathOf(rest)
  return { kind: 'site', name: decoded(written), written, path, rest: rest.length === 0 ? undefined : rest.join('/') }
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
