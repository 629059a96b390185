// baobox push

import { stat } from 'node:fs/promises'
import { importDirectory } from '../../../exchange/collections/node/index.js'
import { push as pushBlob } from '../../../exchange/transfer/index.js'
import { statusErrorOf } from '../../../exchange/transfer/push.js'
import { fetchFailed } from '../../../lib/core/errors.js'
import { HASHSEQ } from '../../../lib/hash/cid.js'
import { locationOf } from '../../../verifier/sources/http/urls.js'
import { Failure, UsageError } from '../../terminal/errors.js'
import { formatCount, sizeText } from '../../terminal/format.js'
import { printResult } from '../../terminal/output.js'
import { withProgress } from '../../terminal/progress.js'
import { cidIn, isRoot, named, warnOfList, withStore } from '../store/open.js'
import { withTemporaryStore } from '../store/temporary.js'
import { serverOf } from './places.js'

/** @import { Stats } from 'node:fs' */
/** @import { CID } from 'multiformats/cid' */
/** @import { BlobStore } from '../../../store/index.js' */
/** @import { BaoError } from '../../../lib/core/errors.js' */
/** @import { Context, Given, Run } from '../../types.js' */

/** @typedef {Given<typeof import('../../table/network.js').push['options']>['values']} PushValues */

const NEEDS_TOKEN = 'if the server wants a token, give it with --token'
const TAKES_NONE = 'the server takes no uploads; baobox serve does with --put-token'

/** @type {Run<typeof import('../../table/network.js').push>} */
export async function push ({ values, operands: [source] }, context) {
  const { recursive } = values
  const send = senderOf(source, values, context)
  const found = isRoot(source) ? undefined : await statOf(source)
  if (found === undefined) return sendStored(source, values, context, send)
  if (recursive && !found.isDirectory()) throw new UsageError('--recursive is for collections and folders')
  const { signal } = context
  const options = /** @type {const} */ ({ mode: 'reference', signal })
  await withTemporaryStore(async store => {
    const { cid } = await withProgress({ name: source }, onProgress => found.isDirectory()
      ? importDirectory(store, source, { ...options, onProgress })
      : store.importFile(source, { ...options, onProgress }))
    await send(store, cid, { recursive: found.isDirectory() })
  })
}

/**
 * Sends a blob of the store.
 *
 * @param {string} source @param {PushValues} values @param {Context} context @param {ReturnType<typeof senderOf>} send
 */
async function sendStored (source, values, context, send) {
  const { recursive } = values
  try {
    await withStore(values, context, async store => {
      const cid = await cidIn(store, source)
      if (cid.code === HASHSEQ && !recursive) warnOfList(source, 'sending')
      await named(cid, () => send(store, cid, { recursive }))
    }, { onlyReads: true })
  } catch (error) {
    if (!(error instanceof Failure) || isRoot(source)) throw error
    throw new Failure(`there is no file or folder '${source}', and ${error.message}`, { cause: error.cause })
  }
}

/** @param {string} path @returns {Promise<Stats | undefined>} undefined when there is nothing */
async function statOf (path) {
  try {
    return await stat(path)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error
    return undefined
  }
}

/**
 * Makes the function that sends a blob of a store, and prints what it has sent.
 *
 * @param {string} source  what the user calls the blob @param {PushValues} values @param {Context} context
 */
function senderOf (source, values, { signal }) {
  const { to: given, parallel, tag } = values
  if (given === undefined) throw new UsageError('missing --to URL: the server to which the blob is sent')
  const { place: to, headers, isKnown } = serverOf(given, values)
  /** @param {BlobStore} store @param {CID} cid @param {{ recursive?: boolean }} options */
  return async (store, cid, { recursive }) => {
    try {
      const result = await withProgress({ name: source }, onProgress =>
        pushBlob(store, cid, { to, recursive, parallel, headers, signal, onProgress }))
      const { size, blobs, bytes } = result
      const shown = `${recursive ? result.cid : cid}`
      if (tag !== undefined) {
        await setTag(tag, shown, { to, headers, signal }).catch(error => {
          error.message = `${shown} is on the server, but its tag was not set: ${error.message}`
          throw error
        })
      }
      const sizes = `${sizeText(values, bytes)} of ${sizeText(values, size)} sent, ${formatCount(blobs, 'blob')}`
      await printResult(values, { cid: shown, size, blobs, bytes, tag }, `${shown}  ${sizes}`)
    } catch (error) {
      const { code, status = 0, message } = /** @type {BaoError} */ (error)
      const hint = status === 405 ? TAKES_NONE : [401, 403].includes(status) && !isKnown ? NEEDS_TOKEN : undefined
      if (code !== 'FETCH_STATUS' || hint === undefined) throw error
      throw new Failure(`${code}: ${message}: ${hint}`, { cause: error })
    }
  }
}

/**
 * Sets a tag on the server.
 *
 * @param {string} name @param {string} cid
 * @param {{ to: string, headers: [name: string, value: string][], signal: AbortSignal }} server
 */
async function setTag (name, cid, { to, headers, signal }) {
  const url = new URL(`${to.replace(/\/+$/, '')}/tags/${encodeURIComponent(name)}?cid=${cid}`)
  const response = await fetch(url, { method: 'PUT', redirect: 'manual', headers, signal }).catch(error => {
    signal.throwIfAborted()
    throw fetchFailed(locationOf(url), error)
  })
  if (!response.ok) throw await statusErrorOf(url, response)
  await response.body?.cancel()
}
