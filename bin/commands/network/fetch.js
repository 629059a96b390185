// baobox fetch

import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { HASHSEQ, toCid } from '../../../lib/hash/cid.js'
import { diffDirectory, exportDirectory } from '../../../exchange/collections/node/index.js'
import { isTicket } from '../../../exchange/iroh/wire/ticket.js'
import { fetchVerified } from '../../../verifier/index.js'
import { DEFAULT_WAIT, rangeOf } from '../../line/values.js'
import { UsageError, oneLine } from '../../terminal/errors.js'
import { arrivalText, entryText, sizeText } from '../../terminal/format.js'
import { deliver, isStream, outputOf, print, printResult } from '../../terminal/output.js'
import { withProgress } from '../../terminal/progress.js'
import { Owner } from '../owner/ask.js'
import { warnOfList, withStore } from '../store/open.js'
import { downloadInto } from './download.js'
import { MirrorLog } from './mirror-log.js'
import { withMirrors } from './peers.js'
import { ofAnyBlob, placeOf } from './places.js'
import { downloadFile } from '../../../exchange/download/index.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BaoError } from '../../../lib/core/errors.js' */
/** @import { BlobStore } from '../../../store/index.js' */
/** @import { DownloadResult } from '../../../exchange/download/download.js' */
/** @import { Context, Given, Run } from '../../types.js' */
/** @import { ByteRange } from '../../../lib/index.js' */
/** @import { FetchedFile } from './download.js' */
/** @import { Wanted } from './places.js' */

/** @typedef {Given<typeof import('../../table/network.js').fetch['options']>['values']} FetchValues */

/** @type {Run<typeof import('../../table/network.js').fetch>} */
export async function fetch ({ values, operands: [source, operand] }, context) {
  const { tag, start, end, count, recursive, 'no-relays': noRelays, 'max-unverified': maxUnverified } = values
  const output = outputOf(operand, values.output)
  const range = (start ?? end ?? count) === undefined ? undefined : rangeOf({ start, end, count })
  const wanted = await placeOf(source, values, context)
  if (noRelays && !wanted.from.some(({ place }) => isTicket(place))) {
    throw new UsageError('--no-relays needs a ticket, as SOURCE or in --from')
  }
  const isSequence = recursive || wanted.isSequence
  if (maxUnverified !== undefined && (isSequence || range !== undefined || await isStream(output))) {
    throw new UsageError('--max-unverified is for one whole blob, into the store or a file')
  }
  if (values.update && !(isSequence && output !== undefined)) {
    throw new UsageError('--update is for the files of a collection in the folder OUTPUT')
  }
  if (isSequence) {
    if (range !== undefined) throw new UsageError('a collection is fetched whole: leave out --start, --end and --count')
    return fetchCollection(wanted, output, values, context)
  }
  if (wanted.isFolder) warnOfList(`${toCid(wanted.root, HASHSEQ)}`, 'fetching')
  if (output === undefined) return fetchToStore(wanted, range, values, context)
  if (tag !== undefined) throw new UsageError('--tag works only without OUTPUT: a file has no tags')
  return fetchToFile(wanted, range, output, values, context)
}

/**
 * Fetches a collection into the store, and writes its files from there into the folder `output`.
 *
 * @param {Wanted} wanted @param {string | undefined} output @param {FetchValues} values @param {Context} context
 */
async function fetchCollection ({ root, from }, output, values, context) {
  if (output === '-') throw new UsageError('OUTPUT is -: a collection cannot be written to stdout, name a folder')
  const cid = toCid(root, HASHSEQ)
  const { signal } = context
  const anyBlob = from.map(({ place, ...rest }) => ({ ...rest, place: ofAnyBlob(place) }))
  const result = await download({ root, isSequence: true, from: anyBlob }, undefined, values, context)
  let place = ''
  if (output !== undefined) {
    await withStore(values, context, store => withProgress({ name: output }, async onProgress => {
      try {
        await exportDirectory(store, cid, output, { update: values.update, signal, onProgress })
      } catch (error) {
        const isThere = /** @type {BaoError} */ (error).code === 'PATH_EXISTS' && !values.update
        if (!isThere || !await hasFiles(store, cid, output, signal)) throw error
        place = `, already there in ${entryText(output)}`
      }
    }), { onlyReads: true })
  }
  await printDownload(values, result, place)
}

/**
 * True if a folder has all files of a collection.
 *
 * @param {BlobStore} store @param {CID} cid @param {string} folder @param {AbortSignal} signal
 */
async function hasFiles (store, cid, folder, signal) {
  try {
    for await (const { type } of diffDirectory(store, cid, folder, { top: '', signal })) {
      if (type !== 'added') return false
    }
    return true
  } catch {
    signal.throwIfAborted()
    return false // something else is there, and the first error says so
  }
}

/** @param {Wanted} wanted @param {ByteRange | undefined} range @param {FetchValues} values @param {Context} context */
async function fetchToStore (wanted, range, values, context) {
  await printDownload(values, await download(wanted, range, values, context))
}

/**
 * Downloads into the store, and prints a line for each file of a collection.
 *
 * @param {Wanted} wanted @param {ByteRange | undefined} ranges @param {FetchValues} values @param {Context} context
 * @returns {Promise<DownloadResult>}
 */
function download ({ root, isSequence: recursive = false, from }, ranges, values, context) {
  const { tag, 'no-relays': noRelays } = values
  const { signal } = context
  const cid = recursive ? toCid(root, HASHSEQ) : toCid(root)
  return logged(values, log => withStore(values, context, store => withProgress({
    name: `${cid}`
  }, async (showProgress, hideProgress) => {
    let printed = Promise.resolve()
    const onFile = (/** @type {FetchedFile} */ file) => {
      hideProgress()
      // If the reader of the lines has closed stdout, the download continues.
      printed = printed.then(() => printFile(values, file)).catch(() => {})
    }
    const listeners = { onProgress: log.listener(showProgress), onAnswer: log.onAnswer, onFile }
    const how = { ...limitsOf(values), from, relays: !noRelays, ranges, recursive, tag, signal, ...listeners }
    try {
      return await (store instanceof Owner ? store.download(cid, how) : downloadInto(store, cid, how))
    } finally {
      await printed
    }
  }), { create: true, calls: true }))
}

/**
 * @param {Wanted} wanted @param {ByteRange | undefined} range @param {string} output @param {FetchValues} values
 * @param {Context} context
 */
function fetchToFile ({ root, from: places }, range, output, values, { signal }) {
  const name = `${toCid(root)}`
  const limits = limitsOf(values)
  return logged(values, log => withMirrors(places, {
    relays: !values['no-relays'], onAnswer: log.onAnswer
  }, async from => {
    if (range !== undefined || await isStream(output)) {
      const [first, ...others] = from
      const { maxDuplicates, retries, stall } = limits
      const how = { maxDuplicates, retries, stall, signal }
      const response = await fetchVerified(first, { cid: root, from: others, range, ...how })
      return deliver(/** @type {AsyncIterable<Uint8Array>} */ (response.body), output, { name })
    }
    const result = await whenFree(values, signal, () => withProgress({ name }, onProgress =>
      downloadFile(root, output, { ...limits, from, signal, onProgress: log.listener(onProgress) })))
    return printDownload(values, result)
  }))
}

/** Milliseconds between attempts while another process downloads to the same file, and between looks at its folder. */
const ATTEMPT_PAUSE = 1000
const LOOK_PAUSE = 50

/**
 * Downloads to a file. While another process downloads to the same file, waits as long as --wait says.
 *
 * @template T
 * @param {FetchValues} values @param {AbortSignal} signal @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function whenFree ({ wait = DEFAULT_WAIT }, signal, work) {
  const end = performance.now() + 1000 * wait
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await work()
    } catch (thrown) {
      const { code, message, location = '' } = /** @type {BaoError} */ (thrown)
      const left = end - performance.now()
      if (code !== 'STORE_LOCKED' || left <= 0) throw thrown
      if (isFirst) process.stderr.write(`baobox: ${message}: waiting for at most ${Math.ceil(left / 1000)} s more\n`)
      // The other download ends with the removal of its folder. If it was killed, the folder stays.
      const next = performance.now() + Math.min(ATTEMPT_PAUSE, left)
      while (performance.now() < next && existsSync(location)) await setTimeout(LOOK_PAUSE, undefined, { signal })
    }
  }
}

/** The limits for `download`, from the options of the command line. @param {FetchValues} values */
const limitsOf = ({ parallel, retries, stall, 'max-duplicates': maxDuplicates, 'max-unverified': maxUnverified }) =>
  ({ parallel, retries, stall: stall && 1000 * stall, maxDuplicates, maxUnverified })

/**
 * Does a download, and with --verbose prints what the mirrors did, also if the download fails.
 *
 * @template T
 * @param {FetchValues} values
 * @param {(log: Pick<MirrorLog, 'listener'> & { onAnswer?: MirrorLog['add'] }) => Promise<T>} work
 */
async function logged (values, work) {
  const log = new MirrorLog(values)
  if (!values.verbose) return work({ listener: log.listener })
  try {
    const result = await work({ listener: log.listener, onAnswer: log.add })
    log.print()
    return result
  } catch (error) {
    log.print(error)
    throw error
  }
}

/** @param {FetchValues} values @param {FetchedFile} file */
function printFile (values, { name, cid, size, received }) {
  const line = `${arrivalText(values, { cid, size, isNew: received > 0 })}  ${entryText(name ?? '')}`
  return printResult(values, { name, cid: `${cid}`, size, received }, line.trimEnd())
}

/** @param {FetchValues} values @param {DownloadResult} result @param {string} [more]  ends the line */
async function printDownload (values, result, more = '') {
  const { cid, size, received, complete, members, mirrors } = result
  const record = {
    cid: `${cid}`,
    size,
    received,
    complete,
    members,
    mirrors: mirrors.map(({ location, state, bytes, error }) => ({ location, state, bytes, error: error?.message }))
  }
  await printResult(values, record, `${cid}  ${downloadText(values, result)}${more}`)
  if (values.json) return
  for (const { location, state, bytes, error } of record.mirrors) {
    const end = state === 'good' ? '' : `  ${state}${error === undefined ? '' : `: ${oneLine(error)}`}`
    await print(`  ${sizeText(values, bytes)} from ${location}${end}\n`)
  }
}

/** @param {FetchValues} values @param {DownloadResult} result */
function downloadText (values, { size, received, complete, members, mirrors }) {
  // Only a file that has the blob already needs no mirror.
  if (mirrors.length === 0) return `${sizeText(values, size)}, already there`
  const of = members === undefined ? ` of ${sizeText(values, size)}` : ''
  return `${sizeText(values, received)}${of} received, ${complete ? 'complete' : 'incomplete'}`
}
