// baobox fsck

import { command, flag, storeOption } from '../arguments.js'
import { Failure } from '../terminal/errors.js'
import { counted, sized } from '../terminal/format.js'
import { print } from '../terminal/output.js'
import { withProgress } from '../terminal/progress.js'
import { locationOf, withStore } from './with-store.js'
import { BlobStore } from '../../store/index.js'

/** @import { FsckReport } from '../../store/check/fsck.js' */

export const fsck = command({
  summary: 'look through a store for damage',
  usage: ['[--store DIR] [--repair | --rescue]'],
  operands: { what: 'nothing', min: 0, max: 0 },
  options: {
    store: storeOption,
    repair: flag('work out again what can be, and drop what is damaged, so that it can be fetched again'),
    rescue: flag('the same for a store that does not open: first make of its files what can be made of them')
  },
  notes: ['Every byte is compared with the CID of its blob. Prints a line for each blob, record and tag that is damaged.\nFails when there was damage and --repair was not said.'],
  examples: ['baobox fsck', 'baobox fsck --repair'],

  async run ({ values }, { signal }) {
    const isMended = values.repair === true || values.rescue === true
    const report = await withProgress({ label: 'fsck' }, tick => {
      /** @type {{ signal: AbortSignal, onProgress: (progress: { detail: { done: number } }) => void }} */
      const options = { signal, onProgress: ({ detail }) => tick(detail.done) }
      if (values.rescue) return BlobStore.rescue(locationOf(values.store), options)
      return withStore(values.store, store => store.fsck({ repair: isMended, ...options }))
    })
    for (const line of linesOf(report)) await print(`${line}\n`)
    if (!report.isReadable) throw new Failure('some files cannot be read: --rescue makes of them what can be made')
    if (!report.isSound && !isMended) throw new Failure('there is damage: --repair drops it')
  }
})

/** @param {FsckReport} report */
function * linesOf ({ blobs, damaged, records, tags, orphans, strays, isStateDamaged }) {
  for (const { cid, size, lost, isUnreadable } of damaged) {
    if (isUnreadable) {
      yield `${cid}  cannot be read: its file is denied, or the disk fails`
      continue
    }
    const len = lost.toBytes(size).reduce((sum, [start, end]) => sum + end - start, 0)
    yield `${cid}  damaged, ${len === 0 ? 'nothing lost' : `${sized(len)} of ${sized(size)} to be fetched again`}`
  }
  for (const { cid, isRestored } of records) yield `${cid}  record damaged${isRestored ? ', restored' : ''}`
  for (const { name, isRestored } of tags) yield `tag ${JSON.stringify(name)} damaged${isRestored ? ', restored' : ''}`
  if (isStateDamaged) yield 'the state of the store is damaged'
  if (orphans > 0) yield `data of ${counted(orphans, 'blob')} that nothing speaks of`
  if (strays > 0) yield `${counted(strays, 'entry that means', 'entries that mean')} nothing`
  yield counted(blobs, 'blob')
}
