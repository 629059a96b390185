// baobox serve

import { once } from 'node:events'
import { bearer, createHandler } from '../../../exchange/http/index.js'
import { serve as serveStore } from '../../../exchange/http/node/index.js'
import { UsageError } from '../../terminal/errors.js'
import { printResult } from '../../terminal/output.js'
import { listenForCalls } from '../owner/listen.js'
import { downloadInto } from './download.js'
import { importArchive } from '../store/transfer.js'
import { servePeers } from './peers.js'
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
export const serve = ({ values }, context) => {
  const { port = DEFAULT_PORT, host, socket, list, site: cid, quiet } = values
  const { signal } = context
  const allowTags = values['allow-tags'] || values['allow-writes']
  const { authorize, maxBytes } = writing(values)
  const site = siteOf(values)
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
      ...place, authorize, maxBytes, list, site, allowTags, ...!quiet && { onRequest }
    })
    try {
      const calls = await listenForCalls(store, location, { cidIn, downloadInto, importFolder, importArchive })
      try {
        await printResult(values, { url: server.url, store: location }, `${server.url}  ${location}`)
        const peers = values.iroh ? await servePeers(store, values) : undefined
        if (!signal.aborted) await once(signal, 'abort')
        await peers?.close({ grace: GRACE })
      } finally {
        await calls.close()
      }
    } finally {
      await server.close({ grace: GRACE })
    }
  }, { create: authorize !== undefined })
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
 * Warns when visitors will not find a page at the top of a site. The site may still arrive, or its tag be moved.
 *
 * @param {BlobStore} store @param {SiteOptions} site
 */
async function warnOfSite (store, site) {
  let failure = /** @type {{ code?: string, error?: Error }} */ ({})
  const handler = createHandler(store, {
    site, onRequest: ({ code, error }) => { failure = { code, error: /** @type {Error} */ (error) } }
  })
  const response = await handler(new Request('http://localhost/'))
  await response.body?.cancel()
  if (response.ok) return
  const { code = 'HTTP_NOT_FOUND', error } = failure // without a code the site has a 404.html
  const why = code === 'HTTP_NOT_FOUND'
    ? 'it has no index.html at its top; --top FOLDER serves a folder of it'
    : `${code}: ${error?.message}`
  process.stderr.write(`baobox: warning: --site: '${site.cid}' has no page at /: ${why}\n`)
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
