// baobox add and receive

import { rangeOf } from '../../line/values.js'
import { UsageError, hintAtOptions } from '../../terminal/errors.js'
import { fileLine, sizeText } from '../../terminal/format.js'
import { eachInput, openInput } from '../../terminal/input.js'
import { printResult } from '../../terminal/output.js'
import { withProgress } from '../../terminal/progress.js'
import { isRoot, rootIn, withStore } from './open.js'

/** @import { Run } from '../../types.js' */

/** Columns for the longest size, and for `already there`. */
const SIZE_WIDTH = 11
const NEWS_WIDTH = 13

/** @type {Run<typeof import('../../table/blobs.js').add>} */
export async function add (given, context) {
  const { values, operands } = given
  const { tag, reference, expect } = values
  for (const [name, value] of Object.entries({ tag, expect })) {
    if (value !== undefined && operands.length > 1) throw new UsageError(`--${name} goes with one FILE only`)
  }
  if (reference && operands.includes('-')) throw new UsageError('--reference needs a file, and - is none')
  if (expect !== undefined && !isRoot(expect)) throw new UsageError(`--expect: '${expect}' is not a CID`)
  if (values.recursive) return (await import('./collections.js')).addFolders(given, context)
  const { signal } = context
  await withStore(values, context, store => eachInput(operands, context, async input => {
    const { cid, size, isNew } = await withProgress(input, onProgress => reference
      ? store.importFile(input.name, { mode: 'reference', tag, signal, onProgress })
      : store.put(input.pieces, { tag, expect, signal, onProgress }))
    const news = (isNew ? 'new' : 'already there').padEnd(NEWS_WIDTH)
    const line = fileLine(`${cid}  ${sizeText(values, size).padStart(SIZE_WIDTH)}  ${news}`, input.name)
    await printResult(values, { name: input.name, cid: `${cid}`, size, isNew }, line.trimEnd())
  }), { create: true, calls: !reference })
}

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
    })).catch(error => { throw hintAtOptions(error, verified === 0) })
    const line = `${name}  ${sizeText(values, received)} received, ${complete ? 'complete' : 'incomplete'}`
    await printResult(values, { name, received, complete }, line)
  }, { create: true, calls: true })
}
