// baobox fsck

import { command, flag, storeOption } from '../arguments.js'
import { Failure } from '../terminal/errors.js'
import { formatCount, formatSize } from '../terminal/format.js'
import { print } from '../terminal/output.js'
import { withProgress } from '../terminal/progress.js'
import { locationOf, withStore } from './with-store.js'
import { BlobStore } from '../../store/index.js'

/** @import { FsckReport } from '../../store/check/fsck.js' */

export const fsck = command({
  summary: 'check a store for damage, and repair it',
  usage: ['[--store DIR] [--repair | --rescue]'],
  operands: { what: 'nothing', min: 0, max: 0 },
  options: {
    store: storeOption,
    repair: flag('repair what can be computed again; drop damaged data, so that it can be fetched'),
    rescue: flag('for a store that does not open: rebuild it from everything that can still be read')
  },
  notes: [
    'Compares every byte with the CID of its blob. Prints a line for each damaged blob, record and tag. ' +
    'Exits with 1 when there is damage and neither --repair nor --rescue is given.'
  ],
  examples: ['baobox fsck', 'baobox fsck --repair'],

  async run ({ values }, { signal }) {
    const isRepairing = values.repair === true || values.rescue === true
    const report = await withProgress({ name: 'fsck' }, onProgress => values.rescue
      ? BlobStore.rescue(locationOf(values.store), { signal, onProgress })
      : withStore(values.store, store => store.fsck({ repair: isRepairing, signal, onProgress })))
    for (const line of linesOf(report)) await print(`${line}\n`)
    if (!report.isReadable) throw new Failure("some files cannot be read: run 'baobox fsck --rescue'")
    if (!report.isSound && !isRepairing) throw new Failure("the store is damaged: run 'baobox fsck --repair'")
  }
})

/** @param {FsckReport} report */
function * linesOf ({ blobs, damaged, records, tags, orphans, strays, isStateDamaged }) {
  for (const blob of damaged) yield `${blob.cid}  ${damageOf(blob)}`
  for (const { cid, isRestored } of records) yield `${cid}  damaged record${isRestored ? ', repaired' : ''}`
  for (const { name, isRestored } of tags) yield `tag ${JSON.stringify(name)}  damaged${isRestored ? ', repaired' : ''}`
  if (isStateDamaged) yield 'the state record of the store is damaged'
  if (orphans > 0) yield formatCount(orphans, 'unreferenced blob')
  if (strays > 0) yield formatCount(strays, 'unknown entry', 'unknown entries')
  yield `${formatCount(blobs, 'blob')} checked`
}

/** @param {FsckReport['damaged'][number]} blob */
function damageOf ({ size, lost, isUnreadable }) {
  if (isUnreadable) return 'unreadable: access to its file is denied, or the disk fails'
  const len = lost.toBytes(size).reduce((sum, [start, end]) => sum + end - start, 0)
  return `damaged, ${len === 0 ? 'no data lost' : `${formatSize(len)} of ${formatSize(size)} must be fetched again`}`
}
