// Makes one blob of several stored ones, one after the other. The first keeps its tree, so it is not hashed again.

import { assertMany, untilSignal } from '../../../lib/async/in-order.js'
import { parseRoot } from '../../../lib/hash/cid.js'
import { GROUP_LEN } from '../../storage/content/tree-pages.js'
import { Original } from './original.js'

/** @import { BlobName } from '../../blob-store.js' */
/** @import { Many } from '../../../lib/async/in-order.js' */
/** @import { PutResult } from '../put-many.js' */
/** @import { GrowOptions, GrowParts } from './splice.js' */

/**
 * See `BlobStore.concat`.
 *
 * @param {GrowParts} parts @param {Many<BlobName>} cids @param {GrowOptions} options
 * @returns {Promise<PutResult>}
 */
export async function concat (parts, cids, { verify = parts.verifies, onProgress, ...options }) {
  assertMany('cids', cids, 'CIDs')
  const releases = /** @type {(() => void)[]} */ ([])
  try {
    return await parts.writer.fill(async (blob, signal) => {
      const originals = /** @type {Original[]} */ ([])
      for await (const cid of untilSignal(cids, signal)) {
        const root = parseRoot(cid, 'cids')
        releases.push(parts.protection.tag(root, 'raw'))
        const original = await Original.find(parts, root, { verifies: verify, signal })
        await original.requireAround(original.size, original.size)
        if (original.size > 0) originals.push(original)
      }
      const total = originals.reduce((sum, { size }) => sum + size, 0)
      const tell = () => onProgress?.({ type: 'baobox:concat', detail: { done: blob.size, total } })
      const [first, ...others] = originals
      if (first === undefined) return
      const whole = first.size - first.size % GROUP_LEN
      await first.share(blob, whole)
      await first.keep(blob, 0, whole, tell)
      await first.move(blob, whole, first.size, tell)
      for (const original of others) await original.move(blob, 0, original.size, tell)
    }, options, { closing: new AbortController(), cancel () {} })
  } finally {
    for (const release of releases) release()
  }
}
