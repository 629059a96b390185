// baobox fetch

import { HASHSEQ, parseRoot, toCid } from '../../../lib/hash/cid.js'
import { BlobStore } from '../../../store/index.js'
import { fetchVerified } from '../../../verifier/index.js'
import { parseTicket } from '../../../store/exchange/iroh/index.js'
import { isTicket } from '../../../store/exchange/iroh/wire/ticket.js'
import { rangeOf } from '../../line/values.js'
import { UsageError } from '../../terminal/errors.js'
import { sizeText } from '../../terminal/format.js'
import { deliver, print, printResult } from '../../terminal/output.js'
import { withProgress } from '../../terminal/progress.js'
import { withPeers } from './peers.js'
import { isRoot, rootOf, withStore } from '../store/open.js'

/** @import { IrohMirror } from '../../../store/exchange/iroh/index.js' */
/** @import { DownloadResult } from '../../../store/exchange/download/download.js' */
/** @import { Context, Run } from '../../types.js' */
/** @import { StoreValues } from '../store/open.js' */

/** @typedef {{ start: number, end: number }} Range  bytes */
/** @typedef {{ root: Uint8Array, isSequence?: boolean, from: string[] }} Wanted  a blob, and its mirrors */

/** @type {Run<typeof import('../../table/network.js').fetch>} */
export async function fetch ({ values, operands: [source, output] }, context) {
  const { tag, start, end, count, 'no-relays': noRelays = false } = values
  const isPart = (start ?? end ?? count) !== undefined
  if (output !== undefined && tag !== undefined) throw new UsageError('--tag excludes OUTPUT: it is for stores')
  const wanted = await placeOf(source, values, context)
  if (noRelays && !wanted.from.some(isTicket)) throw new UsageError('--no-relays goes with a ticket')
  if (wanted.isSequence && (output !== undefined || isPart)) {
    throw new UsageError("the ticket is for a collection: leave out OUTPUT and ranges, then use 'baobox get -r'")
  }
  const range = isPart ? rangeOf({ start, end, count }) : undefined
  return withPeers(wanted.from, { relays: !noRelays }, from => output === undefined
    ? fetchToStore(wanted, from, range, values, context)
    : fetchToFile(wanted, from, range, output, values, context))
}

/**
 * @param {Wanted} wanted @param {(string | IrohMirror)[]} from @param {Range | undefined} range
 * @param {{ tag?: string, parallel?: number, json?: boolean, bytes?: boolean } & StoreValues} values
 * @param {Context} context
 */
async function fetchToStore ({ root, isSequence }, from, range, values, context) {
  const { tag, parallel } = values
  const { signal } = context
  const named = toCid(root, isSequence ? HASHSEQ : undefined)
  // Another process cannot use the peers of this one.
  const calls = from.every(mirror => typeof mirror === 'string')
  await withStore(values, context, async store => {
    const result = await withProgress({ name: `${named}` }, onProgress => {
      const what = isSequence ? { recursive: true } : range && { ranges: range }
      return store.download(root, { from, parallel, signal, ...what, onProgress })
    })
    if (tag !== undefined) await store.tags.set(tag, root, isSequence ? { format: 'hashseq' } : undefined)
    await printDownload(values, result)
  }, { create: true, calls })
}

/**
 * @param {Wanted} wanted @param {(string | IrohMirror)[]} from @param {Range | undefined} range @param {string} output
 * @param {{ parallel?: number, json?: boolean, bytes?: boolean }} values @param {Context} context
 */
async function fetchToFile ({ root }, from, range, output, values, { signal }) {
  const name = `${toCid(root)}`
  if (output === '-' || range !== undefined) {
    const [first, ...others] = from.map(mirror => typeof mirror === 'string' ? expanded(mirror, root) : mirror)
    const response = await fetchVerified(first, { cid: root, from: others, ...range, signal })
    return deliver(/** @type {AsyncIterable<Uint8Array>} */ (response.body), output, { name })
  }
  const result = await withProgress({ name }, onProgress =>
    BlobStore.downloadFile(root, output, { from, parallel: values.parallel, signal, onProgress }))
  return printDownload(values, result)
}

/**
 * The blob that is wanted, and its mirrors.
 *
 * @param {string} source  the first operand
 * @param {{ from?: string[], cid?: string } & StoreValues} values
 * @param {Context} context
 * @returns {Promise<Wanted>}
 */
async function placeOf (source, { from = [], cid, ...values }, context) {
  for (const place of from) if (!isTicket(place)) checkUrl(place, '--from')
  if (isTicket(source)) {
    if (cid !== undefined) throw new UsageError('--cid goes with a URL')
    const ticket = parseTicket(source)
    return { root: parseRoot(ticket.cid), isSequence: ticket.cid.code === HASHSEQ, from: [source, ...from] }
  }
  if (/^rasl:/i.test(source)) {
    if (cid !== undefined) throw new UsageError('--cid goes with a URL that has no CID')
    const { root, urls } = parseRasl(source)
    if (urls.length + from.length === 0) throw new UsageError('the RASL URL has no hint: give a mirror with --from')
    return { root, from: [...urls, ...from] }
  }
  if (!/^https?:/i.test(source)) {
    if (cid !== undefined) throw new UsageError('--cid goes with a URL')
    if (from.length === 0) throw new UsageError('missing --from: where the blob can be fetched')
    return { root: await rootOf(source, values, context), from }
  }
  checkUrl(source, 'SOURCE')
  const named = cid ?? new URL(source).pathname.split(/[/.]/).findLast(isRoot)
  if (named === undefined) throw new UsageError('the URL has no CID in its path: give it with --cid')
  return { root: cid === undefined ? parseRoot(named) : await rootOf(named, values, context), from: [source, ...from] }
}

/**
 * The blob that a RASL URL names, and where its hints say that it is: `rasl://bafkr4i.../?hint=example.org`. Source:
 * dasl.ing, "RASL".
 *
 * @param {string} source
 * @returns {{ root: Uint8Array, urls: string[] }}
 * @throws {UsageError}
 */
export function parseRasl (source) {
  const url = URL.canParse(source) ? new URL(source) : undefined
  if (url === undefined || !isRoot(url.hostname)) throw new UsageError(`'${source}' names no blob by a CID of BLAKE3`)
  const urls = url.searchParams.getAll('hint').map(hint => {
    const place = `https://${hint}`
    if (!URL.canParse(place) || new URL(place).host !== hint.toLowerCase()) {
      throw new UsageError(`the hint '${hint}' of the RASL URL is not a host`)
    }
    return `${place}/.well-known/rasl/${url.hostname}`
  })
  return { root: parseRoot(url.hostname), urls }
}

/** @param {string} url @param {string} what  the name of the argument */
function checkUrl (url, what) {
  if (!/^https?:/i.test(url) || !URL.canParse(url)) throw new UsageError(`${what}: '${url}' is not an HTTP URL`)
}

/** The URL of a blob, for a mirror of many. @param {string} url @param {Uint8Array} root */
function expanded (url, root) {
  const hex = Buffer.from(root).toString('hex')
  return url.replaceAll('{cid}', `${toCid(root)}`).replaceAll('{hex}', hex).replaceAll('{hex2}', hex.slice(0, 2))
}

/** @param {{ json?: boolean, bytes?: boolean }} values @param {DownloadResult} result */
async function printDownload (values, { cid, size, received, complete, mirrors }) {
  const record = {
    cid: `${cid}`,
    size,
    received,
    complete,
    mirrors: mirrors.map(({ location, state, bytes, error }) => ({ location, state, bytes, error: error?.message }))
  }
  const sizes = `${sizeText(values, received)} of ${sizeText(values, size)} received`
  await printResult(values, record, `${cid}  ${sizes}, ${complete ? 'complete' : 'incomplete'}`)
  if (values.json) return
  for (const { location, state, bytes, error } of record.mirrors) {
    const end = state === 'good' ? '' : `  ${state}${error === undefined ? '' : `: ${error}`}`
    await print(`  ${sizeText(values, bytes)} from ${location}${end}\n`)
  }
}
