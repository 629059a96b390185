// baobox export and import: archives of blobs, as CAR files.

import { Failure } from '../../terminal/errors.js'
import { formatCount, sizeText } from '../../terminal/format.js'
import { openInput } from '../../terminal/input.js'
import { deliver, printResult, refuseTerminal } from '../../terminal/output.js'
import { withProgress } from '../../terminal/progress.js'
import { Owner } from '../owner/ask.js'
import { isRoot, withStore } from './open.js'
import { exportCar, importCar } from '../../../exchange/transfer/index.js'

/** @import { BlobStore } from '../../../store/blob-store.js' */
/** @import { ImportOptions, ImportResult } from '../../../exchange/transfer/import-car.js' */
/** @import { Run } from '../../types.js' */

/** @type {Run<typeof import('../../table/blobs.js').exportBlobs>} */
export async function exportBlobs ({ values, operands }, context) {
  const { output, 'all-names': hasAllNames } = values
  refuseTerminal(output, 'an archive')
  const cids = operands.filter(isRoot)
  const tags = operands.filter(name => !isRoot(name))
  const chosen = { ...cids.length > 0 && { cids }, ...tags.length > 0 && { tags } }
  await withStore(values, context, store =>
    deliver(exportCar(store, { ...chosen, dasl: !hasAllNames, signal: context.signal }), output, { name: 'export' }),
  { onlyReads: true })
}

/** @type {Run<typeof import('../../table/blobs.js').importBlobs>} */
export async function importBlobs ({ values, operands: [name = '-'] }, context) {
  const { tag, 'skip-unknown': skips } = values
  const { signal } = context
  const input = await openInput(name, signal)
  await withStore(values, context, async store => {
    const { roots, ...rest } = await withProgress(input, onProgress =>
      importArchive(store, input.pieces, { tag, unknown: skips ? 'skip' : 'refuse', signal, onProgress }))
    if (tag !== undefined && roots.length === 0) throw new Failure('the archive has no root that --tag could name')
    const { blocks, bytes, skipped } = rest
    const end = skipped > 0 ? `, ${skipped} skipped` : ''
    const line = `${formatCount(blocks, 'block')}, ${sizeText(values, bytes)}${end}`
    await printResult(values, { ...rest, roots: roots.map(cid => `${cid}`) }, line)
  }, { create: true, calls: true })
}

/**
 * Puts the blocks of an archive into a store, and tags its roots: the first as `tag`, the second as `tag-2`, and so on.
 * The result leaves out the metadata of the archive, which may have any values.
 *
 * @param {BlobStore | Owner} store @param {AsyncIterable<Uint8Array>} archive
 * @param {Pick<ImportOptions, 'unknown' | 'signal' | 'onProgress'> & { tag?: string }} options
 * @returns {Promise<Omit<ImportResult, 'metadata'>>}
 */
export async function importArchive (store, archive, { tag, ...options }) {
  if (store instanceof Owner) return store.import(archive, { tag, ...options })
  const tagRoot = (/** @type {unknown} */ cid, /** @type {number} */ i) => i === 0 ? tag : `${tag}-${i + 1}`
  const named = { ...options, ...tag !== undefined && { tagRoot } }
  const { metadata: _, ...result } = await importCar(store, archive, named)
  return result
}
