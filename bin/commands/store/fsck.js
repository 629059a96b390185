// baobox fsck and rescue

import { BlobStore } from '../../../store/index.js'
import { Failure } from '../../terminal/errors.js'
import { formatCount, sizeText, tagText } from '../../terminal/format.js'
import { print, printResult } from '../../terminal/output.js'
import { withProgress } from '../../terminal/progress.js'
import { folderOf, withStore } from './open.js'

/** @import { FsckReport } from '../../../store/check/fsck.js' */
/** @import { Run } from '../../types.js' */
/** @typedef {{ json?: boolean, bytes?: boolean }} Values  of the options */

/** @type {Run<typeof import('../../table/upkeep.js').fsck>} */
export async function fsck ({ values }, context) {
  const { signal } = context
  const repair = values.repair === true
  const report = await withStore(values, context, store =>
    withProgress({ name: 'fsck' }, onProgress => store.fsck({ repair, signal, onProgress })))
  await printReport(values, report)
  if (!report.isReadable) throw new Failure("some files cannot be read: run 'baobox rescue'")
  if (!report.isSound && !repair) throw new Failure("the store is damaged: run 'baobox fsck --repair'")
}

/** @type {Run<typeof import('../../table/upkeep.js').rescue>} */
export async function rescue ({ values }, { signal }) {
  const report = await withProgress({ name: 'rescue' }, onProgress =>
    BlobStore.rescue(folderOf(values.store, 'rescue'), { signal, onProgress }))
  await printReport(values, report)
}

/** @param {Values} values @param {FsckReport} report */
async function printReport (values, report) {
  if (values.json) return printResult(values, jsonOf(report), '')
  for (const line of linesOf(values, report)) await print(`${line}\n`)
}

/** @param {Values} values @param {FsckReport} report */
function * linesOf (values, { blobs, damaged, records, tags, orphans, strays, isStateDamaged, lostBytes = 0 }) {
  for (const blob of damaged) yield `${blob.cid}  ${damageOf(values, blob)}`
  for (const { cid, isRestored } of records) yield `${cid}  damaged record${isRestored ? ', repaired' : ''}`
  for (const { name, isRestored } of tags) yield `tag ${tagText(name)}  damaged${isRestored ? ', repaired' : ''}`
  if (isStateDamaged) yield 'the state record of the store is damaged'
  if (lostBytes > 0) yield `${sizeText(values, lostBytes)} of the databases could not be read`
  if (orphans > 0) yield formatCount(orphans, 'unreferenced blob')
  if (strays > 0) yield formatCount(strays, 'unknown entry', 'unknown entries')
  yield `${formatCount(blobs, 'blob')} checked`
}

/** @param {Values} values @param {FsckReport['damaged'][number]} blob */
function damageOf (values, { size, lost, isUnreadable }) {
  if (isUnreadable) return 'unreadable: access to its file is denied, or the disk fails'
  const len = lost.toBytes(size).reduce((sum, { start, end }) => sum + end - start, 0)
  const text = `${sizeText(values, len)} of ${sizeText(values, size)} must be fetched again`
  return `damaged, ${len === 0 ? 'no data lost' : text}`
}

/** A report as plain data, with CIDs as strings, and ranges in bytes. @param {FsckReport} report */
const jsonOf = report => ({
  ...report,
  damaged: report.damaged.map(({ lost, ...blob }) => ({ ...blob, cid: `${blob.cid}`, lost: lost.toBytes(blob.size) })),
  records: report.records.map(record => ({ ...record, cid: `${record.cid}` })),
  tags: report.tags.map(tag => JSON.parse(JSON.stringify(tag, (key, value) => key === 'cid' ? `${value}` : value)))
})
