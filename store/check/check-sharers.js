// Checks blobs that share a file: whether their entries in the index agree with the records, and whether a shorter blob
// is right when a longer one is known to be right.

import { BaoError } from '../../lib/core/errors.js'
import { equals } from 'uint8arrays/equals'
import { TrustedTree } from '../read/verified/tree-cache.js'
import { sourceOf } from '../read/snapshot.js'
import { nameOf } from '../../lib/hash/roots.js'
import { readEdge } from '../read/verified/edge.js'
import { isPageOf } from '../storage/content/tree-pages.js'
import { VIEWS, allOfId, allSharers, placeOfKey, sharerKey } from '../storage/format/keys.js'
import { decodeSharer } from '../storage/format/records.js'
import { isIntact } from './blob/inspect-blob.js'
import { readEntries } from '../storage/level/entries.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { Losses } from './identify-data.js' */
/** @import { Entry } from '../storage/level/entries.js' */
/** @import { Locks } from '../../lib/async/locks.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { TagIndex } from '../catalog/names/tag-index.js' */

/** @typedef {{ root: Uint8Array, record: BlobRecord }} Shared */

export class SharerCheck {
  #parts
  #repairs
  #losses
  #signal
  /** Entries that no record matches, and records without an entry. */
  strays = 0
  /** Blobs whose records are damaged or lost, and can be restored. */
  lost = /** @type {Shared[]} */ ([])
  isUnreadable = false
  /** Bases that have lost a sharer. */
  #left = /** @type {Set<number>} */ (new Set())

  /**
   * @param {{ catalog: Catalog, databases: Databases, locks: Locks, tags: TagIndex }} parts
   * @param {{ repair: boolean, losses: Losses, signal?: AbortSignal }} options
   */
  constructor (parts, { repair, losses, signal }) {
    this.#parts = parts
    this.#repairs = repair
    this.#losses = losses
    this.#signal = signal
  }

  /** Checks all entries. With `repair` it also restores every lost record. */
  async run () {
    const { databases: { index } } = this.#parts
    for await (const entries of readEntries(index, allSharers, () => { this.isUnreadable = true })) {
      this.#signal?.throwIfAborted()
      for (const [key, value] of entries) {
        const sharer = decodeSharer(key, value)
        if (sharer === undefined) continue // An earlier check has counted it as a stray entry.
        await this.#parts.locks.run(nameOf(sharer.root), () => this.#checkEntry([key, value], sharer))
      }
    }
  }

  /** @param {Entry} entry @param {NonNullable<ReturnType<typeof decodeSharer>>} sharer  what it says */
  async #checkEntry ([key, value], { root, id, base, size }) {
    const { catalog, databases, tags } = this.#parts
    const { isThere, record } = await catalog.find(root)
    if (record !== undefined && record.id === id && record.base === base && record.size === size) return
    const now = await databases.index.get(key, VIEWS)
    if (now === undefined || !equals(now, value)) return // It was read before the record was locked.
    /** @type {BlobRecord} */
    const after = { id, size, sizeProven: true, complete: true, home: 'shared', base, created: Date.now() }
    // When there is no record at all, only a whole blob counts, because the blob may have been deleted.
    const mayBeLost = async () => this.#losses !== 'none' || (await tags.tagOf(root)).isTagged
    const isLost = isThere
      ? await databases.files?.len(base) !== undefined
      : await mayBeLost() && await isIntact(databases, root, after, this.#signal)
    if (record === undefined && isLost) {
      this.lost.push({ root, record: after })
      if (this.#repairs) await catalog.commit([{ root, after, gained: 0 }])
      return
    }
    this.strays++
    if (!this.#repairs) return
    await catalog.dropSharer(root, base, size)
    this.#left.add(base)
  }

  /** Checks that the record of a sharer has an entry. @param {Uint8Array} root @param {BlobRecord} seen */
  async checkRecord (root, seen) {
    const { catalog, databases: { index }, locks } = this.#parts
    const isNoted = async (/** @type {BlobRecord} */ { id, base, size }) => {
      const key = sharerKey(/** @type {number} */ (base), size)
      const value = await index.get(key, VIEWS)
      const sharer = value && decodeSharer(key, value)
      return sharer !== undefined && sharer.id === id && equals(sharer.root, root)
    }
    if (await isNoted(seen)) return
    await locks.run(nameOf(root), async () => {
      const { record } = await catalog.find(root)
      if (record?.home !== 'shared' || await isNoted(record)) return
      this.strays++
      if (this.#repairs) await catalog.addSharer(root, record)
    })
  }

  /** Cuts off the bytes that only dropped sharers had. All records must have been checked before. */
  async cutOff () { for (const base of this.#left) await this.#parts.catalog.bases.cutOff(base) }
}

/**
 * Is a blob right? It is when the part that it shares with a longer, right blob is right there, and its own rest is.
 *
 * @param {Databases} databases @param {Shared} blob
 * @param {Shared} longer  on the same base, and known to be right
 */
export async function isPartOf (databases, { root, record }, longer) {
  const { data } = databases
  const { id, size } = record
  for await (const key of data.keys({ ...allOfId(id), ...VIEWS })) {
    const place = placeOfKey(key)
    const isOwn = place?.id === id && place.band !== undefined
    if (!isOwn || !isPageOf(size, { band: /** @type {number} */ (place.band), lastChunk: place.chunk })) return false
  }
  const tree = new TrustedTree(root, record)
  const other = new TrustedTree(longer.root, longer.record)
  const source = sourceOf(databases, root, record, [0, size], VIEWS)
  try {
    const { subtrees, start } = await readEdge(tree, data, size)
    let at = 0
    for (const { cv, len } of subtrees) {
      if (!equals(cv, await other.expected(at, at + len, data, () => VIEWS))) return false
      at += len
    }
    const bytes = await source.read(start, size)
    return bytes.length === 0 ? start === size : await tree.isRight(bytes, start, data, () => VIEWS)
  } catch (error) {
    if (error instanceof BaoError && error.code.startsWith('BAO_')) return false
    throw error
  } finally {
    await source.close()
  }
}
