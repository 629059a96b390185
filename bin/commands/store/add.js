// baobox add, concat and receive

import { rangeOf } from '../../line/values.js'
import { UsageError, hintAtOptions } from '../../terminal/errors.js'
import { arrivalText, fileLine, sizeText } from '../../terminal/format.js'
import { eachInput, openInput } from '../../terminal/input.js'
import { toCid } from '../../../lib/hash/cid.js'
import { printResult } from '../../terminal/output.js'
import { withProgress } from '../../terminal/progress.js'
import { Owner } from '../owner/ask.js'
import { rootIn, withStore } from './open.js'

/** @import { BlobStore } from '../../../store/index.js' */
/** @import { Run } from '../../types.js' */

/** @type {Run<typeof import('../../table/blobs.js').add>} */
export async function add (given, context) {
  const { values } = given
  // On a terminal, a command that waits for input would look as if it hung.
  const operands = given.operands.length === 0 && !process.stdin.isTTY ? ['-'] : given.operands
  if (operands.length === 0) throw new UsageError('missing argument FILE')
  const { tag, reference, expect: name } = values
  for (const [option, value] of Object.entries({ tag, expect: name })) {
    if (value !== undefined && operands.length > 1) throw new UsageError(`--${option} is for one FILE only`)
  }
  if (reference && operands.includes('-')) throw new UsageError('--reference needs a file, and - is not a file')
  if (values.recursive) return (await import('./collections.js')).addFolders({ values, operands }, context)
  const { signal } = context
  await withStore(values, context, store => eachInput(operands, context, async input => {
    const expect = name === undefined ? undefined : `${toCid(await rootIn(store, name))}`
    if (reference && store.importFile === undefined) throw new UsageError('--reference needs a store in a folder')
    // If another process has the store open, it gets the bytes, because it may not be allowed to read the file.
    const isOwn = !(store instanceof Owner) && store.importFile !== undefined
    const isImport = reference || (input.size !== undefined && isOwn)
    const { cid, size, isNew } = await withProgress(input, onProgress => isImport
      ? store.importFile(input.name, { mode: reference ? 'reference' : 'copy', tag, expect, signal, onProgress })
      : store.put(input.pieces, { tag, expect, signal, onProgress }))
    const line = fileLine(arrivalText(values, { cid, size, isNew }), input.name)
    await printResult(values, { name: input.name, cid: `${cid}`, size, isNew }, line.trimEnd())
  }), { create: true, calls: true })
}

/** @type {Run<typeof import('../../table/blobs.js').concatBlobs>} */
export const concatBlobs = ({ values, operands }, context) => withStore(values, context, async store => {
  const { signal } = context
  const parts = /** @type {{ cid: Uint8Array }[]} */ ([])
  for (const name of operands) parts.push({ cid: await rootIn(store, name) })
  const { tag } = values
  const { cid, size, isNew } = await withProgress({ name: 'concat' }, onProgress => store.compose === undefined
    ? store.put(bytesOf(store, parts, signal), { tag, signal, onProgress })
    : store.compose(parts, { tag, signal, onProgress }))
  await printResult(values, { cid: `${cid}`, size, isNew }, arrivalText(values, { cid, size, isNew }).trimEnd())
}, { calls: true })

/** @param {BlobStore} store @param {{ cid: Uint8Array }[]} parts @param {AbortSignal} signal */
async function * bytesOf (store, parts, signal) {
  for (const { cid } of parts) yield * store.get(cid, undefined, { signal })
}

const RECEIVED_OTHERWISE = 'was it made for another range, or without --group-log 4?'

/** @type {Run<typeof import('../../table/encodings.js').receive>} */
export async function receive ({ values, operands: [name, from = '-'] }, context) {
  const span = rangeOf(values)
  const { signal } = context
  const { pieces } = await openInput(from, signal)
  await withStore(values, context, async store => {
    const root = await rootIn(store, name)
    let verified = 0
    const { received, complete } = await withProgress({ name }, onProgress => store.receive(root, pieces, span, {
      signal,
      onProgress (event) {
        verified = event.detail.done
        onProgress(event)
      }
    })).catch(error => { throw hintAtOptions(error, verified === 0, RECEIVED_OTHERWISE) })
    const line = `${name}  ${sizeText(values, received)} received, ${complete ? 'complete' : 'incomplete'}`
    await printResult(values, { name, received, complete }, line)
  }, { create: true, calls: true })
}
