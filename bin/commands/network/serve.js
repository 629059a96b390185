// baobox serve

import { once } from 'node:events'
import { bearer } from '../../../exchange/http/index.js'
import { serve as serveStore } from '../../../exchange/http/node/index.js'
import { UsageError } from '../../terminal/errors.js'
import { printResult } from '../../terminal/output.js'
import { listenForCalls } from '../owner/listen.js'
import { downloadInto } from './download.js'
import { importArchive } from '../store/transfer.js'
import { servePeers } from './peers.js'
import { importFolder } from '../store/collections.js'
import { isRoot, locationOf, rootIn, withStore } from '../store/open.js'

/** @import { HandlerOptions, RequestEvent } from '../../../exchange/http/index.js' */
/** @import { Run } from '../../types.js' */

const DEFAULT_PORT = 4700
/** The maximum time that answers continue after Ctrl-C, in milliseconds. */
const GRACE = 10_000

/** @type {Run<typeof import('../../table/network.js').serve>} */
export const serve = ({ values }, context) => {
  const { port = DEFAULT_PORT, host, socket, list, site, 'allow-tags': allowTags, quiet } = values
  const { signal } = context
  const { authorize, maxBytes } = writing(values)
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
    if (site !== undefined && !isRoot(site) && await store.tags.get(site) === undefined) {
      throw new UsageError(`--site: '${site}' is neither a CID nor a tag of the store`)
    }
    const server = await serveStore(store, {
      ...place, authorize, maxBytes, list, site, allowTags, ...!quiet && { onRequest }
    })
    try {
      const calls = await listenForCalls(store, location, { rootIn, downloadInto, importFolder, importArchive })
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
 * Who may write. The token allows uploads and nothing else.
 *
 * @param {{ 'put-token'?: string, 'max-put'?: number }} values
 * @returns {Pick<HandlerOptions, 'authorize' | 'maxBytes'>}
 */
function writing ({ 'put-token': token = process.env.BAOBOX_PUT_TOKEN, 'max-put': maxBytes }) {
  if (!token) {
    if (maxBytes !== undefined) throw new UsageError('--max-put needs --put-token')
    return {}
  }
  if (!/^[\x21-\x7e]+$/.test(token)) throw new UsageError('--put-token: TOKEN is not visible ASCII without spaces')
  return { authorize: bearer(token), maxBytes }
}
