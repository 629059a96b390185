// baobox rm and tag

import { Failure, UsageError } from '../../terminal/errors.js'
import { tagText } from '../../terminal/format.js'
import { printResult } from '../../terminal/output.js'
import { cidIn, isRoot, named, withStore } from './open.js'
import { parseRoot } from '../../../lib/hash/cid.js'
import { notFound, tagNotFound } from '../../../store/interface.js'

/** @import { Run } from '../../types.js' */

/** @type {Run<typeof import('../../table/blobs.js').rm>} */
export const rm = ({ values, operands }, context) => withStore(values, context, async store => {
  for (const name of operands) {
    context.signal.throwIfAborted()
    await context.attempt(async () => {
      const cid = await cidIn(store, name)
      const root = parseRoot(cid)
      const { blobs } = await named(cid, () => store.delete(root, { force: values.force }))
      if (blobs === 0) throw new Failure(`${name} is not in the store`, { cause: notFound(root) })
      if (values.json) await printResult(values, { name, cid: `${cid}` }, '')
    })
  }
}, { calls: true })

/** Names that, before a tag, look like an action. */
const ACTIONS = ['delete', 'remove', 'rm']

/** @type {Run<typeof import('../../table/blobs.js').tag>} */
export async function tag ({ values, operands: [name, cid] }, context) {
  if (values.delete && (name === undefined || cid !== undefined)) {
    throw new UsageError('--delete takes one NAME and no CID')
  }
  if (!values.delete && name !== undefined && cid === undefined) throw new UsageError('missing argument CID')
  if (!values.delete && ACTIONS.includes(name) && !isRoot(cid)) {
    throw new UsageError(`did you mean 'baobox tag --delete ${cid}'? A tag '${name}' needs a CID`)
  }
  if (name === '') throw new UsageError('NAME must not be empty')
  await withStore(values, context, async store => {
    if (values.delete) {
      if (await store.tags.delete(name)) return
      throw new Failure(`there is no tag ${JSON.stringify(name)}`, { cause: tagNotFound(name) })
    }
    if (cid !== undefined) {
      await store.tags.set(name, await cidIn(store, cid), values.hashseq ? { format: 'hashseq' } : undefined)
      return
    }
    for await (const { name, cid, format } of store.tags.list()) {
      context.signal.throwIfAborted()
      const line = `${cid}  ${format.padEnd('hashseq'.length)}  ${tagText(name)}`
      await printResult(values, { name, cid: `${cid}`, format }, line)
    }
  }, name === undefined ? { onlyReads: true } : { calls: true })
}
