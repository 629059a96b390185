// Appends to stored blobs. If the old blob is in a file of the store, the new, longer blob shares that file. Otherwise
// the new blob gets a home of its own, and `compose` copies the old bytes.

import { BaoError } from '../../../lib/core/errors.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { parseRoot } from '../../../lib/hash/cid.js'
import { nameOf } from '../../../lib/hash/roots.js'
import { cancelSource, toPieces } from '../../../lib/source/source.js'
import { TrustedTree } from '../../read/verified/trusted-trees.js'
import { sharerOf } from '../../storage/content/bases.js'
import { contentOf } from '../../storage/content/content-of.js'
import { Page, PageEditor } from '../../storage/content/tree-pages.js'
import { VIEWS, allOfId, placeOfKey } from '../../storage/format/keys.js'
import { COMPOSE_OPTIONS, Composition } from '../compose/compose.js'
import { AppendedBlob } from './appended-blob.js'
import { readRightEdge } from '../../read/verified/right-edge.js'

/** @import { BlobName } from '../../blob-store.js' */
/** @import { ProgressOptions, Source } from '../../../lib/core/types.js' */
/** @import { Locks } from '../../../lib/async/locks.js' */
/** @import { Catalog } from '../../catalog/catalog.js' */
/** @import { Uses } from '../../catalog/uses.js' */
/** @import { Activity } from '../../storage/concurrency/activity.js' */
/** @import { BlobRecord } from '../../storage/format/records.js' */
/** @import { RightEdge } from '../../read/verified/right-edge.js' */
/** @import { SafeDatabase } from '../../storage/level/safe-database.js' */
/** @import { NewOptions } from './appended-blob.js' */
/** @import { ComposeOptions, ComposeParts } from '../compose/compose.js' */
/** @import { MakeBlob, WriteBytes } from '../put.js' */
/** @import { IncomingBlob } from '../incoming-blob.js' */
/** @import { PutResult } from '../put-many.js' */

/**
 * @typedef {object} AppendParts
 * @property {Activity} activity
 * @property {Catalog} catalog
 * @property {Locks} locks
 * @property {Uses} uses
 */

export class Appender {
  #parts

  /** @param {AppendParts & ComposeParts} parts */
  constructor (parts) {
    this.#parts = parts
  }

  /**
   * @param {BlobName} cid @param {Source} source @param {ComposeOptions} given  see `BlobStore.append`
   * @returns {Promise<PutResult>}
   */
  async append (cid, source, given) {
    assertKnownOptions(given, COMPOSE_OPTIONS)
    const { verify, onProgress, ...options } = given
    const root = parseRoot(cid, 'cid')
    const composition = new Composition(this.#parts, { verify, onProgress, type: 'baobox:append' })
    const release = this.#parts.protection.tag(root, 'raw')
    /** @type {WriteBytes<IncomingBlob | AppendedBlob>} */
    const writeBytes = (blob, signal) => blob instanceof AppendedBlob
      ? fillAppended(blob, source, { signal, onProgress })
      : composition.fill(blob, [{ cid: root }, { source }], signal)
    const closing = new AbortController()
    /** @type {MakeBlob<AppendedBlob>} */
    const makeBlob = (id, assertSizeAllowed) => this.#continue(root, id, assertSizeAllowed)
    try {
      const cancel = () => cancelSource(source)
      return await this.#parts.writer.putFilled(options, { writeBytes, makeBlob, closing, cancel })
    } finally {
      composition.release()
      release()
    }
  }

  /**
   * Makes a new blob that continues an old one in the old one's file, if that is possible.
   *
   * @param {Uint8Array} root  of the old blob @param {number} id  of the new blob
   * @param {(size: number) => void} assertSizeAllowed
   */
  async #continue (root, id, assertSizeAllowed) {
    const { record } = await this.#parts.catalog.find(root)
    if (!record?.complete) return undefined
    const { fileId } = contentOf(this.#parts.databases, root, record)
    if (fileId === undefined) return undefined
    this.#parts.uses.touch(root)
    return this.#share(root, record, fileId, { id, assertSizeAllowed })
  }

  /**
   * @param {Uint8Array} root @param {BlobRecord} record @param {number} base  the id of its file
   * @param {NewOptions} options
   * @returns {Promise<AppendedBlob | undefined>} undefined when the file cannot be shared now: a longer blob is in it,
   *   or is being written to it; the file has other names (hard links); the base lacks some of its pairs; or something
   *   is damaged
   */
  async #share (root, record, base, options) {
    const { bases } = this.#parts.catalog
    if (!bases.tryLock(base)) return undefined
    let blob
    try {
      blob = await this.#shareLocked(root, record, base, options)
      return blob
    } catch (error) {
      // `compose` will read all bytes, find this damage again, and heal it if possible.
      if (error instanceof BaoError && error.code.startsWith('BAO_')) return undefined
      throw error
    } finally {
      if (blob === undefined) await bases.unlock(base).catch(() => this.#parts.activity.noteLeftovers())
    }
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @param {number} base @param {NewOptions} options */
  async #shareLocked (root, record, base, options) {
    const { activity, catalog, databases } = this.#parts
    const { bases } = catalog
    const { data, files } = databases
    const { size } = record
    await bases.load([{ base }])
    if (files === undefined || !bases.isLongest(record)) return undefined
    const isSharer = sharerOf(record) !== undefined
    const tree = new TrustedTree(root, record)
    const edge = await readRightEdge(tree, data, size)
    // The sharer has its own copies of pairs that the base has lost. A longer blob would not find these.
    if (isSharer && await pairCountOf(data, record.id) > edge.pairs.length) return undefined
    const source = contentOf(databases, root, record).reader([edge.start, size])
    let bytes
    try {
      bytes = await source.read(edge.start, size)
    } finally {
      await source.close()
    }
    const isRight = bytes.length === 0 || await tree.isRight(bytes, edge.start, data, () => VIEWS)
    if (bytes.length < size - edge.start || !isRight) return undefined
    if (!isSharer && !await this.#turnIntoSharer(root, record, edge)) return undefined
    const file = await files.appender(base, size)
    if (file === undefined) return undefined
    try {
      const parts = { activity, catalog, databases }
      return await new AppendedBlob(parts, options, { root, base, size, edge, bytes, file }).begin()
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /**
   * Turns a blob into a sharer. Its old id becomes the id of the base, which keeps the file and the shared pairs. The
   * blob gets a new id, which has only the pairs of its right edge.
   *
   * @param {Uint8Array} root @param {BlobRecord} seen @param {RightEdge} edge
   * @returns {Promise<boolean>} false when another call has replaced or deleted the blob
   */
  async #turnIntoSharer (root, seen, edge) {
    const { activity, catalog, databases, locks } = this.#parts
    const { data, ids, syncBatch } = databases
    const id = await ids.newId()
    let [isRecorded, mayBeRecorded] = [false, false]
    try {
      const own = new PageEditor(id)
      for (const { node, pair } of edge.pairs) own.setPair(node, pair, 0)
      const puts = own.take()
      if (puts.length > 0) await data.batch(puts, syncBatch)
      await locks.run(nameOf(root), async () => {
        const { record: before } = await catalog.find(root)
        if (before?.id !== seen.id || !before.complete || sharerOf(before) !== undefined) return
        /** @type {BlobRecord} */
        const after = { ...before, id, base: before.id, home: 'shared' }
        mayBeRecorded = true
        // From now on, its bytes count for the base; `commit` adds them to the base.
        await catalog.commit([{ root, before, after, gained: 0 - before.size }])
        isRecorded = true
        mayBeRecorded = false
      })
      return isRecorded
    } finally {
      if (mayBeRecorded) {
        activity.noteLeftovers()
      } else {
        if (!isRecorded) await databases.deleteData(id).catch(() => activity.noteLeftovers())
        ids.release(id)
      }
    }
  }
}

/**
 * Counts the pairs that a sharer has under its own id: those of its edge, and those that a repair has computed again
 * because the base has lost them.
 *
 * @param {SafeDatabase} data @param {number} id
 */
async function pairCountOf (data, id) {
  let count = 0
  for await (const [key, value] of data.iterator({ ...allOfId(id), ...VIEWS })) {
    if (placeOfKey(key)?.band !== undefined) count += new Page(value).pairCount
  }
  return count
}

/** @param {AppendedBlob} blob @param {Source} source @param {ProgressOptions} options */
async function fillAppended (blob, source, { signal, onProgress }) {
  const before = blob.size
  /** @type {ProgressOptions['onProgress']} */
  const tell = ({ detail: { done, total } }) => onProgress?.({
    type: 'baobox:append',
    detail: { done: before + done, total: total === undefined ? undefined : before + total, unit: 'bytes' }
  })
  for await (const piece of toPieces(source, { signal, onProgress: tell })) await blob.write(piece)
}
