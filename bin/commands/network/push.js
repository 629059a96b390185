// baobox push

import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BlobStore } from '../../../store/index.js'
import { importDirectory } from '../../../exchange/collections/node/index.js'
import { push as pushBlob } from '../../../exchange/transfer/index.js'
import { Failure, UsageError } from '../../terminal/errors.js'
import { formatCount, sizeText } from '../../terminal/format.js'
import { printResult } from '../../terminal/output.js'
import { withProgress } from '../../terminal/progress.js'
import { isRoot, rootIn, withStore } from '../store/open.js'
import { uploadToken } from '../../line/values.js'

/** @import { Stats } from 'node:fs' */
/** @import { BlobName } from '../../../store/index.js' */
/** @import { Context, Given, Run } from '../../types.js' */

/** @typedef {Given<typeof import('../../table/network.js').push['options']>['values']} PushValues */

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
    await withStore(values, context, async store => send(store, await rootIn(store, source), { recursive }), {
      onlyReads: true
    })
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
  const { to, parallel } = values
  if (to === undefined) throw new UsageError('missing --to URL: the server to which the blob is sent')
  if (!/^https?:\/\/[^?#]*$/i.test(to) || !URL.canParse(to)) {
    throw new UsageError(`--to: '${to}' is not an HTTP URL without a query`)
  }
  const token = uploadToken(values.token)
  const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` }
  /** @param {BlobStore} store @param {BlobName} cid @param {{ recursive?: boolean }} options */
  return async (store, cid, { recursive }) => {
    const result = await withProgress({ name: source }, onProgress =>
      pushBlob(store, cid, { to, recursive, parallel, headers, signal, onProgress }))
    const { size, blobs, bytes } = result
    const sizes = `${sizeText(values, bytes)} of ${sizeText(values, size)} sent, ${formatCount(blobs, 'blob')}`
    await printResult(values, { cid: `${result.cid}`, size, blobs, bytes }, `${result.cid}  ${sizes}`)
  }
}

/**
 * Opens a store that has the trees of files, whose bytes stay where they are.
 *
 * @param {(store: BlobStore) => Promise<void>} use
 */
async function withTemporaryStore (use) {
  const folder = await mkdtemp(join(tmpdir(), 'baobox-push-'))
  try {
    const store = await BlobStore.open(folder, { durability: 'process' })
    try {
      await use(store)
    } finally {
      await store.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
