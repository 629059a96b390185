// Finds the answer to a request. The path selects a route, the name in the route selects a blob, and the query and the
// headers say in which form the client wants the blob.

import { CHUNK_LEN } from '../../lib/core/constants.js'
import { toCid } from '../../lib/hash/cid.js'
import { assertAllowed } from './authorize.js'
import { answerBlob, redirectBlob } from './blob.js'
import { HttpError, noRoute } from './errors.js'
import { answerList } from './list.js'
import { answerMembers, membersQueryOf } from './members.js'
import { canonicalName, resolveName, rootOfSite } from './names.js'
import { DEFAULT_RULES } from './options.js'
import { answerOutboard } from './outboard.js'
import { answerPost, answerPut } from './put.js'
import { redirectTo, respondJson, respondOptions } from './respond.js'
import { MAX_URL_LEN, routeOf } from './routes.js'
import { answerSite } from './sites/answer-site.js'
import { answerSlice, sliceQueryOf } from './slice.js'
import { findBlob } from './stored-blob.js'
import { answerTag, answerTags } from './tags.js'
import { assertNoBody } from './upload.js'

/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { Refusal } from './authorize.js' */
/** @import { CheckedOptions, CheckedSite } from './options.js' */
/** @import { BlobRoute, MountedRoute, Route, SiteRoute } from './routes.js' */
/** @import { ServedRequest } from './served-request.js' */

/** The maximum number of characters in a header that is read here. */
const MAX_HEADER_LEN = 8192
/** The methods with which everybody may read, unless the caller's `authorize` forbids it. */
const READS = ['GET', 'HEAD']
const HEADERS = ['accept', 'authorization', 'cdn-loop', 'if-match', 'if-none-match', 'if-range', 'range']

/**
 * @param {ServedRequest} served
 * @returns {Promise<Response>}
 * @throws {HttpError | Refusal | import('../../lib/core/errors.js').BaoError} which the client is told instead
 */
export async function answerTo (served) {
  const { request: { method }, url: { pathname, search }, options } = served
  const { basePath, site, allowTags, cors } = options
  assertBounded(served)
  const hasSite = site !== undefined
  if (hasSite && pathname === basePath) return redirectTo(served, `./${basePath.split('/').pop()}/${search}`, false)
  if (!pathname.startsWith(`${basePath}/`)) throw noRoute()
  const route = routeOf(pathname.slice(basePath.length), { hasSite, hasTags: allowTags })
  const methods = methodsOf(route, options)
  if (methods.length === 0) throw noRoute()
  const allow = [...methods, 'OPTIONS'].join(', ')
  if (method === 'OPTIONS') return respondOptions(served, allow)
  if (!methods.includes(method)) throw new HttpError(405, 'HTTP_METHOD', `this path allows ${allow}`, { allow })
  if (!READS.includes(method)) cors.assertNotForged(served)
  switch (route.kind) {
    case 'blob': return answerBlobRoute(served, route)
    case 'site': return answerSiteRoute(served, route)
    case 'mounted': return answerMountedRoute(served, route)
    case 'list': return method === 'POST' ? answerUpload(served) : answerList(served)
    case 'tags': return answerTags(served)
    case 'tag': return answerTag(served, route.name)
    case 'registry': return answerRegistry(served)
  }
}

/**
 * The methods that a path has, beside OPTIONS.
 *
 * @param {Route} route @param {CheckedOptions} options
 */
function methodsOf (route, { list, collections, authorize }) {
  /** @param {string[]} methods */
  const ifWritable = (...methods) => authorize === undefined ? [] : methods
  switch (route.kind) {
    case 'blob': return isBlobItself(route) ? [...READS, ...ifWritable('PUT', 'DELETE')] : READS
    case 'tag': return [...READS, ...ifWritable('PUT', 'DELETE')]
    case 'list': return [...list ? READS : [], ...ifWritable('POST')]
    case 'tags': return list ? READS : []
    case 'site': return collections === undefined ? [] : READS
    default: return READS
  }
}

/** @param {BlobRoute} route */
const isBlobItself = ({ family, groupLog }) => groupLog === undefined && ['blobs', 'plain'].includes(family)

/** @param {ServedRequest} served @throws {HttpError} 400, 414, 431 */
function assertBounded ({ request, isPrivate }) {
  const { method, url, headers } = request
  if (!['PUT', 'POST'].includes(method)) assertNoBody(request)
  // Strangers are limited, but not this program: its pages may keep kilobytes of state in the query or after the `#`.
  if (!isPrivate && url.length > MAX_URL_LEN) {
    throw new HttpError(414, 'HTTP_TOO_LONG', `URLs have at most ${MAX_URL_LEN} characters`)
  }
  const long = HEADERS.find(name => (headers.get(name)?.length ?? 0) > MAX_HEADER_LEN)
  if (long !== undefined) {
    throw new HttpError(431, 'HTTP_TOO_LONG', `"${long}" expected at most ${MAX_HEADER_LEN} characters`)
  }
}

/**
 * Answers with a blob, or with something that is made from it.
 *
 * @param {ServedRequest} served @param {BlobRoute} route
 */
async function answerBlobRoute (served, route) {
  const { request: { method, headers }, url: { search, searchParams } } = served
  const target = await allowedTarget(served, route.name)
  if (target.by !== 'name') {
    const ending = route.groupLog === undefined ? '' : `.obao${route.groupLog}`
    return redirectTo(served, `./${canonicalName(route.family, target)}${ending}${search}`, false)
  }
  if (method === 'PUT') return answerPut(served, target.root)
  if (method === 'DELETE') return answerDelete(served, target.root)

  const isOutboard = route.groupLog !== undefined
  const members = isOutboard ? undefined : membersQueryOf(searchParams)
  const slice = isOutboard || members !== undefined ? undefined : sliceQueryOf(searchParams, headers)
  const { redirect } = served.options
  if (redirect !== undefined && method === 'GET' && !isOutboard && members === undefined && slice === undefined) {
    const response = await redirectBlob(served, target.root, route, redirect)
    if (response !== undefined) return response
  }
  const at = method === 'HEAD' ? undefined : firstByte(slice?.ranges, headers)
  const blob = await findBlob(served.store, target.root, { at, served })
  if (route.groupLog !== undefined) return answerOutboard(served, blob, route.groupLog)
  if (members !== undefined) return answerMembers(served, blob, members)
  return slice === undefined ? answerBlob(served, blob, route) : answerSlice(served, blob, route, slice)
}

/**
 * A byte that is wanted, for a blob whose size is not known yet.
 *
 * @param {ChunkRanges | undefined} ranges  of a slice @param {Headers} headers
 */
function firstByte (ranges, headers) {
  const [, start] = /^bytes= *(\d+)/i.exec(headers.get('range') ?? '') ?? []
  const first = ranges === undefined ? Number(start ?? 0) : (ranges.boundaries[0] ?? 0) * CHUNK_LEN
  return Math.min(first, Number.MAX_SAFE_INTEGER - 1)
}

/**
 * Answers with a file of the collection or manifest that the path names.
 *
 * @param {ServedRequest} served @param {SiteRoute} route
 */
async function answerSiteRoute (served, { name, path, rest }) {
  const { options: { collections: rules = DEFAULT_RULES }, sites, url } = served
  const target = await allowedTarget(served, name)
  const isFinal = target.by === 'name'
  if (isFinal && rest !== undefined) return answerSite(served, path, target.root, { sites, rules, isFinal })
  const up = rest === undefined ? './' : '../'.repeat(rest.split('/').length)
  return redirectTo(served, `${up}${canonicalName('blobs', target)}/${rest ?? ''}${url.search}`, isFinal)
}

/**
 * Answers with a file of the site at `/`.
 *
 * @param {ServedRequest} served @param {MountedRoute} route
 */
async function answerMountedRoute (served, { path }) {
  const { options: { site }, mountedSites: sites } = served
  const { name, rules, mount } = /** @type {CheckedSite} */ (site)
  const root = await rootOfSite(served, name)
  served.cid = `${toCid(root)}`
  await assertAllowed(served, { type: 'read', cid: served.cid })
  return answerSite(served, path, root, { sites, rules, mount, isFinal: false })
}

/**
 * Finds the blob of a name, for a request that may do with it what it is about to do. Others are not told whether there
 * is such a blob.
 *
 * @param {ServedRequest} served @param {string} name
 */
async function allowedTarget (served, name) {
  const { method } = served.request
  const type = method === 'PUT' ? 'put' : method === 'DELETE' ? 'delete' : 'read'
  try {
    const target = await resolveName(served, name)
    served.cid = `${toCid(target.root)}`
    await assertAllowed(served, { type, cid: served.cid, ...target.by === 'tag' && { tag: name } })
    return target
  } catch (error) {
    if (served.cid === undefined) await assertAllowed(served, { type })
    throw error
  }
}

/** @param {ServedRequest} served */
async function answerUpload (served) {
  await assertAllowed(served, { type: 'put' })
  return answerPost(served)
}

/** @param {ServedRequest} served @param {Uint8Array} root */
async function answerDelete (served, root) {
  const { blobs, bytes } = await served.store.delete(root)
  return respondJson(served, 200, { cid: served.cid, blobs, bytes })
}

/** Tells clients of registries that here is one. @param {ServedRequest} served */
async function answerRegistry (served) {
  await assertAllowed(served, { type: 'read' })
  return respondJson(served, 200, {}, { 'docker-distribution-api-version': 'registry/2.0' })
}
