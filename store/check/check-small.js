// Checks many small blobs together. A blob of one chunk group in one extent is right if the extent hashes to its root.

import { hashesTo } from '../read/verified/subtrees.js'
import { contentOf } from '../storage/content/content-of.js'
import { GROUP_LEN } from '../sizes.js'
import { VIEWS, extentKey } from '../storage/format/keys.js'
import { orIfUnreadable } from '../storage/errors.js'

/** @import { Databases } from '../storage/databases.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { SafeDatabase } from '../storage/level/safe-database.js' */

/** Blobs are read together once they have this many bytes. */
const READ_LEN = 1 << 20
const OPTIONS = { ...VIEWS, fillCache: false }

/**
 * Finds small blobs that are right. Other blobs may be right, too, which only `inspectBlob` can tell.
 *
 * @template {{ root: Uint8Array, record?: BlobRecord }} Blob
 * @param {Databases} databases
 * @param {Blob[]} blobs
 * @param {(id: number) => boolean} isAlone  returns true if an id has one extent and nothing else
 * @returns {Promise<Set<Blob>>}
 */
export async function rightSmallBlobs (databases, blobs, isAlone) {
  const right = /** @type {Set<Blob>} */ (new Set())
  let group = /** @type {{ blob: Blob, record: BlobRecord }[]} */ ([])
  let len = 0
  const check = async () => {
    for (const blob of await readTogether(databases.data, group)) right.add(blob)
    group = []
    len = 0
  }
  for (const blob of blobs) {
    const { root, record } = blob
    if (record === undefined || !contentOf(databases, root, record).isOneExtent(GROUP_LEN)) continue
    if (!isAlone(record.id)) continue
    group.push({ blob, record })
    len += record.size
    if (len >= READ_LEN) await check()
  }
  if (group.length > 0) await check()
  return right
}

/**
 * @template {{ root: Uint8Array }} Blob
 * @param {SafeDatabase} data @param {{ blob: Blob, record: BlobRecord }[]} group
 * @returns {Promise<Blob[]>} the right ones
 */
async function readTogether (data, group) {
  const keys = group.map(({ record }) => extentKey(record.id, 0))
  const stored = await orIfUnreadable(data.getMany(keys, OPTIONS)) ?? []
  return group.flatMap(({ blob, record }, i) => {
    const bytes = stored[i]
    return bytes?.length === record.size && hashesTo(bytes, 0, record.size, blob.root) ? [blob] : []
  })
}
