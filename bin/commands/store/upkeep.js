// baobox gc and compact

import { formatCount, sizeText } from '../../terminal/format.js'
import { printResult } from '../../terminal/output.js'
import { folderOf, withStore } from './open.js'

/** @import { Run } from '../../types.js' */

/** @type {Run<typeof import('../../table/upkeep.js').gc>} */
export const gc = ({ values }, context) => withStore(values, context, async store => {
  const dryRun = values['dry-run'] === true
  /** @type {{ cid: string, bytes: number }[]} */
  const deleted = []
  const { blobs, bytes } = await store.gc({
    dryRun,
    signal: context.signal,
    onBlob: ({ cid, bytes }) => deleted.push({ cid: `${cid}`, bytes })
  })
  for (const { cid, bytes } of deleted) await printResult(values, { cid, bytes }, `${cid}  ${sizeText(values, bytes)}`)
  const sums = `${dryRun ? 'would delete' : 'deleted'} ${formatCount(blobs, 'blob')}, ${sizeText(values, bytes)}`
  await printResult(values, { blobs, bytes, dryRun }, sums)
}, { calls: true })

/** @type {Run<typeof import('../../table/upkeep.js').compact>} */
export const compact = ({ values }, context) => {
  const store = folderOf(values.store, 'compact')
  return withStore({ ...values, store }, context, store => store.compact({ signal: context.signal }), { calls: true })
}
