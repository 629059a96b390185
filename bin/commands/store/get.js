// baobox get and cat

import { HASHSEQ, parseRoot } from '../../../lib/hash/cid.js'
import { rangeOf } from '../../line/values.js'
import { deliver, outputOf } from '../../terminal/output.js'
import { cidIn, rootIn, warnOfList, withStore } from './open.js'

/** @import { Run } from '../../types.js' */

/** @type {Run<typeof import('../../table/blobs.js').get>} */
export async function get (given, context) {
  const { values, operands: [name, operand] } = given
  if (values.recursive) return (await import('./collections.js')).getFolder(given, context)
  const { start, end } = rangeOf(values)
  const output = outputOf(operand, values.output)
  const { signal } = context
  await withStore(values, context, async store => {
    const cid = await cidIn(store, name)
    if (cid.code === HASHSEQ) warnOfList(name, 'writing')
    const root = parseRoot(cid)
    const { size } = await store.stat(root)
    const len = Math.max(0, Math.min(end, size) - start)
    await deliver(store.get(root, { start, end }, { signal }), output, { name, size: len })
  }, { onlyReads: true })
}

/** @type {Run<typeof import('../../table/blobs.js').cat>} */
export async function cat ({ values, operands }, context) {
  const { signal } = context
  await withStore(values, context, async store => {
    for (const name of operands) {
      const root = await rootIn(store, name)
      const { size } = await store.stat(root)
      await deliver(store.get(root, undefined, { signal }), '-', { name, size })
    }
  }, { onlyReads: true })
}
