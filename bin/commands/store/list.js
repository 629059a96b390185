// baobox ls, stat, has and missing: what is in a store.

import { rangeOf } from '../../line/values.js'
import { Failure, UsageError } from '../../terminal/errors.js'
import { SIZE_WIDTH, entryText, sizeText, tagText } from '../../terminal/format.js'
import { print, printResult } from '../../terminal/output.js'
import { cidIn, named, rootIn, withStore } from './open.js'
import { areEqual } from '../../../lib/core/bytes.js'
import { HASHSEQ, parseRoot, toCid } from '../../../lib/hash/cid.js'
import { memberStats } from '../../../exchange/collections/index.js'
import { DRISL } from '../../../exchange/collections/web/drisl.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BaoError } from '../../../lib/core/errors.js' */
/** @import { BlobStat, ListedBlob, ByteRange } from '../../../store/index.js' */
/** @import { StoreInfo } from '../../../store/catalog/calls/census.js' */
/** @import { BlobStore } from '../../../store/blob-store.js' */
/** @import { Run } from '../../types.js' */

const LABEL_WIDTH = 11

/** @type {Run<typeof import('../../table/blobs.js').ls>} */
export async function ls (given, context) {
  const { values: { order, reverse, limit }, operands } = given
  if (operands.length === 0) return listBlobs(given, context)
  if (order ?? reverse ?? limit) throw new UsageError('--order, --reverse and --limit are for lists of blobs')
  await (await import('./collections.js')).listEntries(given, context)
}

/** @type {Run<typeof import('../../table/blobs.js').ls>} */
const listBlobs = ({ values }, context) => withStore(values, context, async store => {
  const { order, reverse, limit } = values
  const sequences = await taggedSequences(store)
  for await (const listed of store.list({ order, reverse, maxBlobs: limit })) {
    context.signal.throwIfAborted()
    const blob = { ...listed, cid: sequences.get(`${listed.cid}`) ?? listed.cid }
    const needsMore = values.json || values.long
    const present = needsMore && !blob.complete ? await presentLen(store, blob) : blob.size
    await printResult(values, recordOf(blob, present), values.long ? longLine(values, blob, present) : `${blob.cid}`)
  }
}, { onlyReads: true })

/** @type {Run<typeof import('../../table/blobs.js').stat>} */
export const stat = ({ values, operands }, context) => withStore(values, context, async store => {
  if (operands.length === 0) return printInfo(values, await store.info({ signal: context.signal }))
  for (const [i, name] of operands.entries()) {
    await context.attempt(async () => {
      const cid = await cidIn(store, name)
      const blob = { ...await named(cid, () => store.stat(cid)), cid }
      const members = await membersIn(store, cid, context.signal)
      const { size, sizeProven, present } = blob
      const ranges = present.toBytes(size)
      const record = { ...recordOf(blob, lenOf(ranges)), present: ranges, members, tags: await tagsOf(store, cid) }
      if (values.json) return printResult(values, record, '')
      if (i > 0) await print('\n')
      for (const [label, text] of [
        ['CID', record.cid],
        ['hash', record.hash],
        ['size', `${sizeText(values, size)}${sizeProven ? '' : ', claimed by a sender, not proven yet'}`],
        ['present', blob.complete ? 'complete' : `${sizeText(values, record.presentBytes)}, ${rangesText(ranges)}`],
        ...members ? memberLines(values, members) : [],
        ['created', formatTime(blob.created)],
        ['last used', formatTime(blob.lastUsed)],
        ['tags', record.tags.map(tagText).join(' ') || 'none']
      ]) await print(`${label.padEnd(LABEL_WIDTH)} ${text}\n`)
    })
  }
}, { onlyReads: true })

/** @type {Run<typeof import('../../table/blobs.js').has>} */
export const has = ({ values, operands }, context) => withStore(values, context, async store => {
  for (const name of operands) {
    await context.attempt(async () => {
      const cid = await cidIn(store, name)
      const state = values.recursive ? await wholeState(store, cid, context.signal) : await stateIn(store, cid)
      if (state !== 'complete') context.fail()
      await printResult(values, { name, cid: `${cid}`, state }, `${name}  ${state}`)
    })
  }
}, { onlyReads: true })

/** @typedef {'complete' | 'partial' | 'absent'} State  of a blob in the store */

/** @param {BlobStat | undefined} stat @returns {State} */
const stateOf = stat => stat === undefined ? 'absent' : stat.complete ? 'complete' : 'partial'

/** @param {BlobStore} store @param {CID} cid */
const stateIn = (store, cid) => store.stat(cid).then(stateOf, error => {
  if (error.code === 'STORE_NOT_FOUND') return stateOf(undefined)
  throw new Failure('the store cannot tell', { cause: error })
})

/**
 * The state of a collection with its members.
 *
 * @param {BlobStore} store @param {CID} cid @param {AbortSignal} signal
 * @returns {Promise<State>} `partial` if it is there and any member is not complete
 */
async function wholeState (store, cid, signal) {
  let isFirst = true
  for await (const { stat } of memberStats(store, cid, { signal })) {
    if (stateOf(stat) !== 'complete') return isFirst ? stateOf(stat) : 'partial'
    isFirst = false
  }
  return 'complete'
}

/** @type {Run<typeof import('../../table/blobs.js').missing>} */
export const missing = ({ values, operands: [name] }, context) => withStore(values, context, async store => {
  if (values.recursive) return printIncomplete(values, store, await cidIn(store, name), context.signal)
  const { start, end } = rangeOf(values)
  const root = await rootIn(store, name)
  const { size } = await store.stat(root)
  const ranges = await store.missing(root, { start, end })
  for (const { start: from, end: to } of ranges.toBytes(size)) {
    await printResult(values, { start: from, count: to - from }, `${from} ${to - from}`)
  }
}, { onlyReads: true })

/**
 * Prints a line for each member of a collection, and for the collection itself, that is not complete.
 *
 * @param {{ json?: boolean }} values @param {BlobStore} store @param {CID} of @param {AbortSignal} signal
 */
async function printIncomplete (values, store, of, signal) {
  let own = /** @type {CID | undefined} */ (of) // the first line is that of the collection
  for await (const { cid: member, name, stat } of memberStats(store, of, { signal })) {
    const state = stateOf(stat)
    const cid = own ?? member
    own = undefined
    if (state === 'complete') continue
    const line = `${cid}  ${state.padEnd('partial'.length)}  ${entryText(name ?? '')}`
    await printResult(values, { cid: `${cid}`, name, state }, line.trimEnd())
  }
}

/**
 * @typedef {object} Members
 * @property {number} files  members with names; all if none has a name
 * @property {number} bytes  of the files whose size is known
 * @property {number} absent  members that the store does not have
 * @property {number} partial  members of which it has a part
 */

/**
 * Counts the members of a collection or manifest.
 *
 * @param {BlobStore} store @param {CID} cid @param {AbortSignal} signal
 * @returns {Promise<Members | undefined>} undefined for other blobs, and when the members are not known
 */
async function membersIn (store, cid, signal) {
  if (cid.code !== HASHSEQ && cid.code !== DRISL) return undefined
  const all = { files: -1, bytes: 0 } // the first is the collection itself
  const named = { files: 0, bytes: 0 }
  const lacking = { absent: 0, partial: 0 }
  try {
    for await (const { name, stat } of memberStats(store, cid, { signal })) {
      for (const counts of name === undefined ? [all] : [all, named]) {
        counts.files++
        counts.bytes += counts.files > 0 ? stat?.size ?? 0 : 0
      }
      const state = stateOf(stat)
      if (state !== 'complete') lacking[state]++
    }
  } catch (error) {
    // The CID only claims that it is one.
    if (/** @type {BaoError} */ (error).code === 'COLLECTION_INVALID') return undefined
    throw error
  }
  return all.files < 1 ? undefined : { ...named.files > 0 ? named : all, ...lacking }
}

/** @param {{ bytes?: boolean }} values @param {Members} members @returns {[label: string, text: string][]} */
function memberLines (values, { files, bytes, absent, partial }) {
  const counts = [...absent > 0 ? [`${absent} absent`] : [], ...partial > 0 ? [`${partial} partial`] : []]
  return [
    ['files', `${files}, ${absent > 0 ? 'at least ' : ''}${sizeText(values, bytes)}`],
    ['incomplete', counts.join(', ') || 'none']
  ]
}

/** @param {{ json?: boolean, bytes?: boolean }} values @param {StoreInfo} info */
async function printInfo (values, info) {
  if (values.json) return printResult(values, info, '')
  const { blobs, partial, bytes, tags, bytesOnDisk } = info
  for (const [label, text] of [
    ['blobs', `${blobs}${partial === 0 ? '' : `, ${partial} of them in part`}`],
    ['size', sizeText(values, bytes)],
    ['on disk', bytesOnDisk === undefined ? 'unknown' : sizeText(values, bytesOnDisk)],
    ['tags', `${tags}`]
  ]) await print(`${label.padEnd(LABEL_WIDTH)} ${text}\n`)
}

/** A blob as --json prints it. @param {ListedBlob} blob @param {number} presentBytes */
const recordOf = ({ cid, size, sizeProven, complete, created, lastUsed }, presentBytes) => ({
  cid: `${cid}`,
  hash: Buffer.from(cid.multihash.digest).toString('hex'),
  size,
  sizeProven,
  complete,
  presentBytes,
  created,
  lastUsed
})

/** @param {{ bytes?: boolean }} values @param {ListedBlob} blob @param {number} present  bytes */
function longLine (values, { cid, size, sizeProven, complete, created, lastUsed }, present) {
  const state = complete ? 'complete' : `${sizeText(values, present)} present`
  const len = `${sizeText(values, size)}${sizeProven ? '' : '?'}`
  const columns = [len.padStart(SIZE_WIDTH + '?'.length), state.padEnd(SIZE_WIDTH + ' present'.length)]
  return [cid, ...columns, formatTime(created), formatTime(lastUsed)].join('  ')
}

/** @param {BlobStore} store @param {ListedBlob} blob */
async function presentLen (store, { cid, size }) {
  const { present } = await store.stat(cid)
  return lenOf(present.toBytes(size))
}

/**
 * The CIDs of the tagged sequences, by the CIDs of their blobs. To find the others, every blob would have to be read.
 *
 * @param {BlobStore} store @returns {Promise<Map<string, CID>>}
 */
async function taggedSequences (store) {
  const sequences = new Map()
  for await (const { cid, format } of store.tags.list()) {
    if (format === 'hashseq') sequences.set(`${toCid(parseRoot(cid))}`, cid)
  }
  return sequences
}

/** @param {BlobStore} store @param {CID} cid */
async function tagsOf (store, cid) {
  const names = []
  const root = parseRoot(cid)
  for await (const tag of store.tags.list()) if (areEqual(root, 0, tag.cid.multihash.digest)) names.push(tag.name)
  return names
}

/** @param {ByteRange[]} ranges */
const lenOf = ranges => [...ranges].reduce((len, { start, end }) => len + end - start, 0)

/** Ranges, or only their number if there are many. @param {ByteRange[]} ranges */
const rangesText = ranges => ranges.length > 8
  ? `in ${ranges.length} ranges`
  : ranges.map(({ start, end }) => `${start}-${end}`).join(' ')

/** @param {Date} time */
const formatTime = time => time.toISOString().replace('T', ' ').slice(0, 16)
