// baobox slice

import { encodeSlice } from '../../../encoder/index.js'
import { parseSpan } from '../../line/values.js'
import { UsageError } from '../../terminal/errors.js'
import { deliver, refuseTerminal } from '../../terminal/output.js'
import { BAO_LOG, groupLogOf } from './endings.js'
import { isInStore, withBlobAndOutboard, withEncoding, withFile, withStored } from './blobs.js'

/** @import { Run } from '../../types.js' */

/** @type {Run<typeof import('../../table/encodings.js').slice>} */
export async function slice ({ values, operands: [start, count, name = '-', output] }, context) {
  const { outboard: file, 'group-log': groupLog = BAO_LOG, store: dir } = values
  const span = parseSpan(start, count)
  const { signal } = context
  refuseTerminal(output, 'a slice')
  /** @param {AsyncIterable<Uint8Array>} pieces */
  const write = pieces => deliver(pieces, output, { name: `slice of ${name}` })

  if (file !== undefined) {
    const terms = { groupLog: groupLogOf(file, values['group-log']) }
    if (dir !== undefined) throw new UsageError('--outboard excludes --store: a store has its own outboards')
    return withBlobAndOutboard(name, file, terms, context, (blob, outboard) =>
      write(encodeSlice(blob, outboard, span, { signal })))
  }
  if (await isInStore(name, dir)) {
    return withStored(name, dir, context, ({ store, root }) => write(store.slice(root, span, { groupLog, signal })))
  }
  return withFile(name, context, path => withEncoding(path, groupLog, async ({ source, outboard }) => {
    await write(encodeSlice(source, outboard, span, { signal }))
  }))
}
