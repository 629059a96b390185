// baobox cid

import { codecOf, parseRoot, toCid } from '../../../lib/hash/cid.js'
import { hashStream } from '../../../lib/hash/index.js'
import { UsageError } from '../../terminal/errors.js'
import { fileLine, hex } from '../../terminal/format.js'
import { eachInput } from '../../terminal/input.js'
import { print, printResult } from '../../terminal/output.js'
import { withProgress } from '../../terminal/progress.js'

/** @import { Run } from '../../types.js' */

/** @type {Run<typeof import('../../table/hashing.js').cid>} */
export async function cid ({ values, operands }, context) {
  const { signal, attempt } = context
  if (values.convert && operands.length === 0) throw new UsageError('missing argument FILE: --convert reads no stdin')
  if (values.convert) {
    for (const name of operands) await attempt(() => convert(name, values))
    return
  }
  await eachInput(operands, context, async input => {
    const root = await withProgress(input, onProgress => hashStream(input.source, { signal, onProgress }))
    const cid = `${toCid(root)}`
    if (values.json) return printResult(values, { name: input.name, cid, hash: hex(root) }, '')
    await print(values['no-names'] ? `${cid}\n` : fileLine(cid, input.name))
  })
}

/** Prints the other form of a name. @param {string} name @param {{ json?: boolean }} values */
function convert (name, values) {
  const root = parseRoot(name)
  const isHash = codecOf(name) === undefined
  const record = { cid: isHash ? `${toCid(root)}` : name, hash: hex(root) }
  return printResult(values, record, isHash ? record.cid : record.hash)
}
