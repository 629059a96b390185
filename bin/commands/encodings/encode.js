// baobox encode and outboard

import { createReadStream } from 'node:fs'
import { encodeStream, sliceLen, writeOutboard } from '../../../encoder/index.js'
import { UsageError } from '../../terminal/errors.js'
import { openInput } from '../../terminal/input.js'
import { deliver, outputOf, refuseTerminal } from '../../terminal/output.js'
import { withProgress } from '../../terminal/progress.js'
import { isInStore, withBlob, withOutboard, withStored, withTemporary } from './blobs.js'
import { BAO_LOG, layoutFor } from './endings.js'

/** @import { Context, Run } from '../../types.js' */

/** @type {Run<typeof import('../../table/encodings.js').encode>} */
export async function encode ({ values, operands: [name, output] }, context) {
  const { outboard: file, store: dir } = values
  if (file !== undefined) {
    if (output !== undefined) throw new UsageError('OUTPUT excludes --outboard, which names the file')
    return outboardTo(file, { name, dir, ...layoutFor(file, values['group-log']) }, context)
  }
  const groupLog = values['group-log'] ?? BAO_LOG
  refuseTerminal(output, 'an encoding')
  const { signal } = context
  /** @param {AsyncIterable<Uint8Array>} pieces @param {number} size  of the blob */
  const write = (pieces, size) =>
    deliver(pieces, output, { name: `encode ${name}`, size: sliceLen({ size, groupLog }) })
  await withBlob(name, dir, context, blob => blob.stored
    // The slice of a whole blob is its combined encoding.
    ? write(blob.stored.store.slice(blob.stored.root, undefined, { groupLog, signal }), blob.size)
    : withOutboard(blob, groupLog, context, outboard =>
      write(encodeStream(blob.source, outboard, { signal }), blob.size)))
}

/** @type {Run<typeof import('../../table/encodings.js').outboard>} */
export async function outboard ({ values, operands: [name, operand] }, context) {
  const { 'group-log': groupLog, 'no-header': noHeader, store: dir, output: option } = values
  const output = outputOf(operand, option)
  const layout = layoutFor(output, groupLog, noHeader)
  refuseTerminal(output, 'an outboard')
  await outboardTo(output, { name, dir, ...layout }, context)
}

/**
 * Writes an outboard.
 *
 * @param {string | undefined} output  `-` and undefined mean stdout
 * @param {{ name: string, dir?: string, groupLog: number, header: boolean }} terms  `name`: of the blob
 * @param {Context} context
 */
async function outboardTo (output, { name, dir, groupLog, header }, context) {
  const { signal } = context
  await withTemporary(async path => {
    if (await isInStore(name, dir)) {
      await withStored(name, dir, context, async ({ store, root }) =>
        writeOutboard(store.get(root, undefined, { signal }), path, { groupLog, header, signal }))
    } else {
      const input = await openInput(name, signal)
      await withProgress(input, onProgress =>
        writeOutboard(input.source, path, { groupLog, header, signal, onProgress }))
    }
    await deliver(createReadStream(path), output, { name: `outboard of ${name}` })
  })
}
