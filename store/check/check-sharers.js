// Checks blobs that share a file: compares their entries in the index with their records, and checks their bytes, each
// shared byte only once.

import { BaoError } from '../../lib/core/errors.js'
import { equals } from 'uint8arrays/equals'
import { TrustedTree } from '../read/verified/trusted-trees.js'
import { sharerOf } from '../storage/content/bases.js'
import { contentOf } from '../storage/content/content-of.js'
import { nameOf } from '../../lib/hash/roots.js'
import { readRightEdge } from '../read/verified/right-edge.js'
import { isPageOf } from '../storage/content/tree-pages.js'
import { VIEWS, allOfId, allSharers, placeOfKey, sharerKey } from '../storage/format/keys.js'
import { decodeSharer } from '../storage/format/records.js'
import { isIntact } from './blob/inspect-blob.js'
import { readEntries } from '../storage/level/entries.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { ClaimFinder, Claims } from './claims.js' */
/** @import { Losses } from './identify-data.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { Entry } from '../storage/level/entries.js' */
/** @import { Locks } from '../../lib/async/locks.js' */
/** @import { Catalog } from '../catalog/catalog.js' */

/** @typedef {{ root: Uint8Array, record: BlobRecord }} Shared */
/** @typedef {NonNullable<ReturnType<typeof decodeSharer>>} FoundSharer */

export class SharerCheck {
  #parts
  #repairs
  #losses
  #signal
  /** Number of entries that no record matches, and of records without an entry. */
  strays = 0
  /** Blobs whose damaged or lost records can be restored. */
  lost = /** @type {Shared[]} */ ([])
  isUnreadable = false
  /** Bases from which an entry was dropped. */
  #left = /** @type {Set<number>} */ (new Set())

  /**
   * @param {{ catalog: Catalog, claims: ClaimFinder, databases: Databases, locks: Locks }} parts
   * @param {{ repair: boolean, losses: Losses, signal?: AbortSignal }} options
   */
  constructor (parts, { repair, losses, signal }) {
    this.#parts = parts
    this.#repairs = repair
    this.#losses = losses
    this.#signal = signal
  }

  /** Checks all entries. With `repair`, it restores every lost record. */
  async run () {
    const { databases: { index }, catalog, locks } = this.#parts
    const odd = /** @type {{ entry: Entry, sharer: FoundSharer }[]} */ ([])
    for await (const entries of readEntries(index, allSharers, () => { this.isUnreadable = true })) {
      this.#signal?.throwIfAborted()
      for (const [key, value] of entries) {
        const sharer = decodeSharer(key, value)
        if (sharer === undefined) continue // An earlier check has counted it as a stray entry.
        const { record } = await catalog.find(sharer.root)
        if (!agrees(record, sharer)) odd.push({ entry: [key, value], sharer })
      }
    }
    if (odd.length === 0) return
    const claims = await this.#parts.claims.of(odd.map(({ sharer }) => sharer.root), this.#signal)
    for (const { entry, sharer } of odd) {
      await locks.run(nameOf(sharer.root), () => this.#checkEntry(entry, sharer, claims))
    }
  }

  /** @param {Entry} entry @param {FoundSharer} sharer  the decoded entry @param {Claims} claims */
  async #checkEntry ([key, value], sharer, claims) {
    const { catalog, databases } = this.#parts
    const { root, id, base, size } = sharer
    const { isThere, record } = await catalog.find(root)
    if (agrees(record, sharer)) return
    const now = await databases.index.get(key, VIEWS)
    if (now === undefined || !equals(now, value)) return // It was changed after it was read.
    /** @type {BlobRecord} */
    const after = { id, size, sizeProven: true, complete: true, home: 'shared', base, created: Date.now() }
    if (record === undefined && await this.#isLost(root, after, isThere, claims)) {
      this.lost.push({ root, record: after })
      if (this.#repairs) await catalog.commit([{ root, after, gained: 0 }])
      return
    }
    this.strays++
    if (!this.#repairs || claims.fault !== undefined) return
    await catalog.dropSharer(root, base, size)
    this.#left.add(base)
  }

  /**
   * Returns true if a sharer has lost its record to damage, and false if it was deleted.
   *
   * @param {Uint8Array} root @param {BlobRecord} record  the record that it would have
   * @param {boolean} isThere  true if there is a damaged record @param {Claims} claims
   */
  async #isLost (root, record, isThere, claims) {
    const { databases } = this.#parts
    const base = /** @type {number} */ (record.base)
    if (isThere || claims.names.has(nameOf(root))) return await databases.files?.len(base) !== undefined
    // Without a damaged record or a claim, the record counts as lost only if records or claims may be lost, and the
    // blob is whole.
    return (this.#losses !== 'none' || !claims.areAll) && isIntact(databases, root, record, this.#signal)
  }

  /** Checks that the record of a sharer has an entry. @param {Uint8Array} root @param {BlobRecord} seen  any record */
  async checkRecord (root, seen) {
    const { catalog, databases: { index }, locks } = this.#parts
    const lacksEntry = async (/** @type {BlobRecord | undefined} */ record) => {
      const expected = sharerOf(record)
      if (expected === undefined) return false
      const key = sharerKey(expected.base, expected.size)
      const value = await index.get(key, VIEWS)
      const sharer = value && decodeSharer(key, value)
      return sharer === undefined || sharer.id !== expected.id || !equals(sharer.root, root)
    }
    if (!await lacksEntry(seen)) return
    await locks.run(nameOf(root), async () => {
      const { record } = await catalog.find(root)
      if (record === undefined || !await lacksEntry(record)) return
      this.strays++
      if (this.#repairs) await catalog.addSharer(root, record)
    })
  }

  /** Cuts off bytes that only dropped sharers had. The caller has already checked all records. */
  async cutOff () { for (const base of this.#left) await this.#parts.catalog.bases.cutOff(base) }
}

/** Checks the bytes of sharers. It reads bytes that several blobs share only once, as long as they are right. */
export class SharedBytesCheck {
  #databases
  #sharers = /** @type {Shared[]} */ ([])

  /** @param {Databases} databases */
  constructor (databases) {
    this.#databases = databases
  }

  /**
   * Keeps a blob for `run` if it is a sharer.
   *
   * @param {Uint8Array} root @param {BlobRecord} record
   * @returns {boolean} true if it is a sharer
   */
  addIfSharer (root, record) {
    const isSharer = sharerOf(record) !== undefined
    if (isSharer) this.#sharers.push({ root, record })
    return isSharer
  }

  /**
   * Checks the sharers that were kept, from the longest of each base to the shortest.
   *
   * @param {(blob: Shared, isRight: boolean) => Promise<boolean>} check  checks one blob, and returns true if it is
   *   right. `isRight`: true if that is already known
   */
  async run (check) {
    const baseOf = (/** @type {Shared} */ { record }) => /** @type {number} */ (record.base)
    this.#sharers.sort((a, b) => baseOf(a) - baseOf(b) || b.record.size - a.record.size)
    /** @type {Shared | undefined}  the longest sharer of the base, if it is right */
    let longest
    for (const blob of this.#sharers) {
      const isOfBase = longest !== undefined && baseOf(longest) === baseOf(blob)
      const isRight = isOfBase && blob.record.complete &&
        await isPartOf(this.#databases, blob, /** @type {Shared} */ (longest))
      const isSound = await check(blob, isRight)
      if (!isOfBase) longest = isSound && blob.record.complete ? blob : undefined
    }
  }
}

/**
 * Returns true if a record agrees with the entry of a sharer.
 *
 * @param {BlobRecord | undefined} record @param {FoundSharer} sharer
 */
const agrees = (record, { id, base, size }) => record?.id === id && record.base === base && record.size === size

/**
 * Returns true if a blob is right, because a longer, right blob has the same subtrees, and the last bytes are verified.
 *
 * @param {Databases} databases @param {Shared} blob
 * @param {Shared} longer  a right blob on the same base
 */
async function isPartOf (databases, { root, record }, longer) {
  const { data } = databases
  const { id, size } = record
  for await (const key of data.keys({ ...allOfId(id), ...VIEWS })) {
    const place = placeOfKey(key)
    const isOwn = place?.id === id && place.band !== undefined
    if (!isOwn || !isPageOf(size, { band: /** @type {number} */ (place.band), lastChunk: place.chunk })) return false
  }
  const tree = new TrustedTree(root, record)
  const other = new TrustedTree(longer.root, longer.record)
  const source = contentOf(databases, root, record).reader()
  try {
    const { subtrees, start } = await readRightEdge(tree, data, size)
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
