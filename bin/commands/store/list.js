// baobox ls, stat, has and missing: what is in a store.

import { rangeOf } from '../../line/values.js'
import { Failure, UsageError } from '../../terminal/errors.js'
import { sizeText } from '../../terminal/format.js'
import { print, printResult } from '../../terminal/output.js'
import { rootIn, withStore } from './open.js'
import { toCid } from '../../../lib/hash/cid.js'

/** @import { ListedBlob, ByteRange } from '../../../store/index.js' */
/** @import { StoreInfo } from '../../../store/catalog/calls/census.js' */
/** @import { BlobStore } from '../../../store/blob-store.js' */
/** @import { Run } from '../../types.js' */

/** The width of the longest size, in characters. */
const SIZE_WIDTH = 11
const LABEL_WIDTH = 10

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
  for await (const blob of store.list({ order, reverse, maxBlobs: limit })) {
    context.signal.throwIfAborted()
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
      const blob = await store.stat(await rootIn(store, name))
      const { size, sizeProven, present } = blob
      const ranges = present.toBytes(size)
      const record = { ...recordOf(blob, lenOf(ranges)), present: ranges, tags: await tagsOf(store, `${blob.cid}`) }
      if (values.json) return printResult(values, record, '')
      if (i > 0) await print('\n')
      for (const [label, text] of [
        ['CID', record.cid],
        ['hash', record.hash],
        ['size', `${sizeText(values, size)}${sizeProven ? '' : ', claimed by a sender, not proven yet'}`],
        ['present', blob.complete ? 'complete' : `${sizeText(values, record.presentBytes)}, ${rangesText(ranges)}`],
        ['created', formatTime(blob.created)],
        ['last used', formatTime(blob.lastUsed)],
        ['tags', record.tags.map(tag => JSON.stringify(tag)).join(' ') || 'none']
      ]) await print(`${label.padEnd(LABEL_WIDTH)} ${text}\n`)
    })
  }
}, { onlyReads: true })

/** @type {Run<typeof import('../../table/blobs.js').has>} */
export const has = ({ values, operands }, context) => withStore(values, context, async store => {
  for (const name of operands) {
    await context.attempt(async () => {
      const root = await rootIn(store, name)
      const isComplete = await store.has(root)
      const state = isComplete ? 'complete' : await isPartial(store, root) ? 'partial' : 'absent'
      if (!isComplete) context.fail()
      await printResult(values, { name, cid: `${toCid(root)}`, state }, `${name}  ${state}`)
    })
  }
}, { onlyReads: true })

/** @type {Run<typeof import('../../table/blobs.js').missing>} */
export const missing = ({ values, operands: [name] }, context) => withStore(values, context, async store => {
  const { start, end } = rangeOf(values)
  const root = await rootIn(store, name)
  const { size } = await store.stat(root)
  const ranges = await store.missing(root, { start, end })
  for (const { start: from, end: to } of ranges.toBytes(size)) {
    await printResult(values, { start: from, count: to - from }, `${from} ${to - from}`)
  }
}, { onlyReads: true })

/** @param {BlobStore} store @param {Uint8Array} root */
const isPartial = (store, root) => store.stat(root).then(() => true, error => {
  if (error.code === 'STORE_NOT_FOUND') return false
  throw new Failure('the store cannot tell', { cause: error })
})

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

/** @param {BlobStore} store @param {string} cid */
async function tagsOf (store, cid) {
  const names = []
  for await (const tag of store.tags.list()) if (`${toCid(tag.cid.multihash.digest)}` === cid) names.push(tag.name)
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
