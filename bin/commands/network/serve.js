// baobox serve

import { once } from 'node:events'
import { bearer, createHandler } from '../../../exchange/http/index.js'
import { fromMirrors } from '../../../exchange/download/index.js'
import { serve as serveStore } from '../../../exchange/http/node/index.js'
import { UsageError, oneLine } from '../../terminal/errors.js'
import { printResult } from '../../terminal/output.js'
import { listenForCalls } from '../owner/listen.js'
import { downloadInto } from './download.js'
import { importArchive } from '../store/transfer.js'
import { servePeers } from './peers.js'
import { originsOf } from './places.js'
import { isBucketUrl } from '../store/bucket.js'
import { importFolder } from '../store/collections.js'
import { cidIn, isRoot, locationOf, withStore } from '../store/open.js'
import { uploadToken } from '../../line/values.js'

/** @import { HandlerOptions, RequestEvent, SiteOptions } from '../../../exchange/http/index.js' */
/** @import { BlobStore } from '../../../store/index.js' */
/** @import { Run } from '../../types.js' */

const DEFAULT_PORT = 4700
/** The maximum time that answers continue after Ctrl-C, in milliseconds. */
const GRACE = 10_000

/** @type {Run<typeof import('../../table/network.js').serve>} */
export const serve = async ({ values }, context) => {
  const { port = DEFAULT_PORT, host, socket, list, site: cid, quiet, origin, header, quota, redirect } = values
  if (redirect && !isBucketUrl(locationOf(values.store))) throw new UsageError('--redirect needs a store in a bucket')
  const { signal } = context
  const allowTags = values['allow-tags'] || values['allow-writes']
  const { authorize, maxBytes } = writing(values)
  const site = siteOf(values)
  const supply = origin && fromMirrors(originsOf(origin, header))
  const place = socket === undefined ? { port, host } : { path: socket }
  /** @param {RequestEvent} event */
  const onRequest = event => {
    const { status, sent, ms, method, path, outcome, code } = event
    const end = [outcome === 'complete' ? undefined : outcome, code].filter(word => word !== undefined).join(' ')
    const line = `${status}  ${sent}  ${ms.toFixed(1)} ms  ${method} ${path}${end && `  ${end}`}`
    // If the reader of the log has closed it, the server continues.
    printResult(values, { ...event, error: undefined }, line).catch(() => {})
  }
  return withStore(values, context, async store => {
    const location = locationOf(values.store)
    if (cid !== undefined && !isRoot(cid) && await store.tags.get(cid) === undefined) {
      throw new UsageError(`--site: '${cid}' is neither a CID nor a tag of the store`)
    }
    if (site !== undefined) await warnOfSite(store, site)
    const server = await serveStore(store, {
      ...place, authorize, maxBytes, list, redirect, site, allowTags, ...!quiet && { onRequest }
    })
    try {
      const calls = isBucketUrl(location)
        ? undefined // other processes open the bucket themselves
        : await listenForCalls(store, location, { cidIn, downloadInto, importFolder, importArchive })
      try {
        await printResult(values, { url: server.url, store: location }, `${server.url}  ${location}`)
        const peers = values.iroh ? await servePeers(store, values) : undefined
        if (!signal.aborted) await once(signal, 'abort')
        await peers?.close({ grace: GRACE })
      } finally {
        await calls?.close()
      }
    } finally {
      await server.close({ grace: GRACE })
    }
  }, { create: authorize !== undefined || supply !== undefined, settings: { quota, supply } })
}

/**
 * @param {{ site?: string, top?: string, fallback?: string, 'no-sandbox'?: boolean }} values
 * @returns {SiteOptions | undefined}
 */
function siteOf ({ site: cid, top, fallback, 'no-sandbox': isFree }) {
  if (cid === undefined) return undefined
  const inSite = (/** @type {string | undefined} */ path) => path?.replace(/^\/+|\/+$/g, '')
  return { cid, top: inSite(top), fallback: inSite(fallback), ...isFree && { sandbox: false } }
}

/**
 * Warns when visitors will not find a page at the top of a site, or when the site lacks what --top or --fallback names.
 * The site may still arrive, or its tag be moved.
 *
 * @param {BlobStore} store @param {SiteOptions} site
 */
async function warnOfSite (store, site) {
  const { cid, top, fallback } = site
  const { isFound, code = 'HTTP_NOT_FOUND', error } = await lookAt(store, site, '/') // a 404.html has no code
  const has = async (/** @type {Partial<SiteOptions>} */ rules, /** @type {string} */ path) =>
    (await lookAt(store, { ...site, ...rules }, path)).isFound
  if (!isFound && code.endsWith('_INVALID')) {
    warn(`--site: '${cid}' is no folder or site: ${code}: ${error?.message}`)
  } else if (!isFound && code !== 'HTTP_NOT_FOUND') {
    warn(`--site: '${cid}' has no page at /: ${code}: ${error?.message}`)
  } else if (top && !await has({ top: '', fallback: undefined, listing: true }, folderPath(top))) {
    warn(`--top: '${cid}' has no folder '${top}'`)
  } else if (fallback !== undefined && !await has({}, `/${crypto.randomUUID()}`)) {
    warn(`--fallback: '${cid}' has no file '${fallback}'${top ? ` in '${top}'` : ''}`)
  } else if (!isFound) {
    warn(`--site: '${cid}' has no page at /: it has no index.html at its top; --top FOLDER serves a folder of it`)
  }
}

/** @param {string} folder */
const folderPath = folder => `/${folder.split('/').map(encodeURIComponent).join('/')}/`

/** @param {string} text */
const warn = text => process.stderr.write(`${oneLine(`baobox: warning: ${text}`)}\n`)

/**
 * Asks for a path of a site.
 *
 * @param {BlobStore} store @param {SiteOptions} site @param {string} path
 * @returns {Promise<{ isFound: boolean, code?: string, error?: Error }>}
 */
async function lookAt (store, site, path) {
  let failure = /** @type {{ code?: string, error?: Error }} */ ({})
  const handler = createHandler(store, {
    site, onRequest: ({ code, error }) => { failure = { code, error: /** @type {Error} */ (error) } }
  })
  const response = await handler(new Request(`http://localhost${path}`))
  await response.body?.cancel()
  return { isFound: response.ok, ...failure }
}

/**
 * Who may write. Without --allow-writes, the token allows uploads and nothing else.
 *
 * @param {{ 'put-token'?: string, 'allow-writes'?: boolean, 'max-put'?: number }} values
 * @returns {Pick<HandlerOptions, 'authorize' | 'maxBytes'>}
 */
function writing ({ 'put-token': given, 'allow-writes': all, 'max-put': maxBytes }) {
  const token = uploadToken(given)
  if (token === undefined) {
    if (all) throw new UsageError('--allow-writes needs --put-token')
    if (maxBytes !== undefined) throw new UsageError('--max-put needs --put-token')
    return {}
  }
  return { authorize: bearer(token, all ? ['put', 'delete', 'tag'] : undefined), maxBytes }
}
