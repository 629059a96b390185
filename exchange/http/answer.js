// Finds the answer to a request. The path selects a route, the name in the route selects a blob, and the query and the
// headers say in which form the client wants the blob.

import { toCid } from '../../lib/hash/cid.js'
import { answerBlob } from './blob.js'
import { HttpError, noRoute } from './errors.js'
import { answerList } from './list.js'
import { answerMembers, membersQueryOf } from './members.js'
import { canonicalName, resolveName, rootOfSite } from './names.js'
import { DEFAULT_RULES } from './options.js'
import { answerOutboard } from './outboard.js'
import { answerPut } from './put.js'
import { redirectTo, respondJson, respondOptions } from './respond.js'
import { MAX_URL_LEN, routeOf } from './routes.js'
import { answerSite } from './sites/site.js'
import { answerSlice, sliceQueryOf } from './slice.js'
import { findBlob } from './stored-blob.js'

/** @import { SiteName } from './options.js' */
/** @import { BlobRoute, MountedRoute, Route, SiteRoute } from './routes.js' */
/** @import { ServedRequest } from './served-request.js' */

/** The maximum number of characters in a header that is read here. */
const MAX_HEADER_LEN = 8192
const HEADERS = ['accept', 'authorization', 'if-match', 'if-none-match', 'if-range', 'range']

/**
 * @param {ServedRequest} served
 * @returns {Promise<Response>}
 * @throws {HttpError | import('../../lib/core/errors.js').BaoError} which is reported to the client instead
 */
export async function answerTo (served) {
  const { request: { method }, url: { pathname, search }, options: { basePath, site, list, put } } = served
  assertBounded(served.request)
  const hasSite = site !== undefined
  if (hasSite && pathname === basePath) return redirectTo(`./${basePath.split('/').pop()}/${search}`, false)
  if (!pathname.startsWith(`${basePath}/`)) throw noRoute()
  const route = routeOf(pathname.slice(basePath.length), { hasSite })
  const methods = put !== undefined && mayPut(route) ? ['GET', 'HEAD', 'PUT', 'OPTIONS'] : ['GET', 'HEAD', 'OPTIONS']
  const allow = methods.join(', ')
  if (method === 'OPTIONS') return respondOptions(allow)
  if (!methods.includes(method)) throw new HttpError(405, 'HTTP_METHOD', `this path allows ${allow}`, { allow })
  if (route.kind === 'blob') return answerNamed(served, route)
  if (route.kind === 'site') return answerCollection(served, route)
  if (hasSite && route.kind === 'mounted') return answerMounted(served, route, site)
  if (route.kind === 'list' && list) return answerList(served)
  if (route.kind !== 'registry') throw noRoute()
  return respondJson(served, 200, {}, { 'docker-distribution-api-version': 'registry/2.0' })
}

/** @param {Request} request @throws {HttpError} 400, 414, 431 */
function assertBounded ({ method, url, headers }) {
  // The body is not read, so a client could send one that never ends.
  if (['GET', 'HEAD', 'OPTIONS'].includes(method) && hasBody(headers)) {
    throw new HttpError(400, 'HTTP_BAD_REQUEST', `requests with ${method} have no body here`, { connection: 'close' })
  }
  if (url.length > MAX_URL_LEN) {
    throw new HttpError(414, 'HTTP_TOO_LONG', `URLs have at most ${MAX_URL_LEN} characters`)
  }
  const long = HEADERS.find(name => (headers.get(name)?.length ?? 0) > MAX_HEADER_LEN)
  if (long !== undefined) {
    throw new HttpError(431, 'HTTP_TOO_LONG', `"${long}" expected at most ${MAX_HEADER_LEN} characters`)
  }
}

/** @param {Headers} headers */
const hasBody = headers => headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) !== 0

/** @param {Route} route */
const mayPut = route =>
  route.kind === 'blob' && route.groupLog === undefined && ['blobs', 'plain'].includes(route.family)

/**
 * Answers with a blob, or with something that is made from it.
 *
 * @param {ServedRequest} served @param {BlobRoute} route
 */
async function answerNamed (served, route) {
  const { request: { method, headers }, url: { search, searchParams }, options: { put } } = served
  const target = await resolveName(served, route.name)
  const cid = `${toCid(target.root)}`
  served.cid = cid
  const name = canonicalName(route.family, target)
  if (route.written !== name) {
    const ending = route.groupLog === undefined ? '' : `.obao${route.groupLog}`
    return redirectTo(`./${name}${ending}${search}`, target.by === 'name')
  }
  if (method === 'PUT' && put !== undefined) return answerPut(served, target.root, put)

  const blob = await findBlob(served.store, target.root, cid)
  if (route.groupLog !== undefined) return answerOutboard(served, blob, route.groupLog)
  const members = membersQueryOf(searchParams)
  if (members !== undefined) return answerMembers(served, blob, members)
  const slice = sliceQueryOf(searchParams, headers)
  return slice === undefined ? answerBlob(served, blob, route) : answerSlice(served, blob, route, slice)
}

/**
 * Answers with a file of a collection or manifest that the path names.
 *
 * @param {ServedRequest} served @param {SiteRoute} route
 */
async function answerCollection (served, { name: given, written, path, rest }) {
  const { options: { collections: rules }, sites, url } = served
  if (rules === undefined) throw noRoute()
  const target = await resolveName(served, given)
  served.cid = `${toCid(target.root)}`
  const name = canonicalName('blobs', target)
  if (written === name && rest !== undefined) {
    return answerSite(served, path, target.root, { sites, rules, isNamed: true })
  }
  const up = rest === undefined ? './' : '../'.repeat(rest.split('/').length)
  return redirectTo(`${up}${name}/${rest ?? ''}${url.search}`, target.by === 'name')
}

/**
 * Answers with a file of the site at the top.
 *
 * @param {ServedRequest} served @param {MountedRoute} route @param {SiteName} site
 */
async function answerMounted (served, { path }, site) {
  const root = await rootOfSite(served, site)
  served.cid = `${toCid(root)}`
  return answerSite(served, path, root, {
    sites: served.top, rules: served.options.collections ?? DEFAULT_RULES, isNamed: false
  })
}
