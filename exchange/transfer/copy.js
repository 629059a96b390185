// Copies blobs and tags to another open store, but only what that store lacks. So the first run makes a backup, and
// every later one brings it up to date, even while the source is being written to. An interrupted run is repeated: what
// has arrived is not sent again.

import { toCid } from '../../lib/hash/cid.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { BaoError } from '../../lib/core/errors.js'
import { equals } from 'uint8arrays/equals'
import { nameOf } from '../../lib/hash/roots.js'
import { inOrder } from '../../lib/async/in-order.js'
import { missing, notFound } from '../../store/storage/errors.js'
import { BATCH_COUNT, BATCH_LEN } from '../../store/write/put-many.js'
import { areSameTags } from '../../store/storage/format/tags.js'
import { FILE_FROM } from '../../store/write/blob-builder.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { contextOf } from '../../store/context-of.js'
import { copySlices, isLoss } from './copy-slices.js'
import { assertSelection, chosenBlobs, chosenTags } from './selection.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobStore } from '../../store/blob-store.js' */
/** @import { StoreContext } from '../../store/store-context.js' */
/** @import { BlobRecord } from '../../store/storage/format/records.js' */
/** @import { Tag } from '../../store/storage/format/tags.js' */
/** @import { ProgressOptions } from '../../lib/core/types.js' */
/** @import { SortedCursor } from '../../store/storage/level/sorted-cursor.js' */
/** @import { SelectionOptions } from './selection.js' */

/** @typedef {SelectionOptions & ProgressOptions} CopyOptions  `onProgress` gets `baobox:copy`, in bytes copied */

/**
 * @typedef {object} CopyResult
 * @property {number} blobs  how many blobs were copied, wholly or in part
 * @property {number} bytes  bytes that were copied: all bytes of a blob up to 1 MiB; for longer ones those that were
 *   missing
 * @property {number} tags  how many tags were set in the other store
 * @property {{ cid?: CID, error: BaoError }[]} failed  blobs that cannot be read here and are not whole in the other
 *   store: `error` is what `get` would throw. Without `cid` for a damaged record or sequence of hashes that hides which
 *   blobs there were
 */

/** How many batches of small blobs may be under way while the next one is read. */
const BATCHES_AHEAD = 2

/**
 * Copies blobs, whole or in part, with their aliases, and tags to another open store: only what that store lacks. Both
 * stores may be used meanwhile. What has arrived stays when the copy is interrupted; run it again then. The copy
 * deletes nothing from the other store. It replaces a tag there by the one of the same name.
 *
 * Damage does not stop the copy. Everything else arrives, even the undamaged parts of a damaged blob.
 *
 * @param {BlobStore} from @param {BlobStore} to  an open store, which is written to
 * @param {CopyOptions} [options]  `cids`: only these blobs, with `recursive` also the members of these sequences;
 *   `tags`: only what these tags protect, and these tags
 * @returns {Promise<CopyResult>}
 * @throws {BaoError} STORE_TAG_NOT_FOUND { tag }; and the errors of writing to the other store
 */
export async function copy (from, to, options = {}) {
  assertSelection(options)
  assertKnownOptions(options, ['cids', 'tags', 'recursive', 'signal', 'onProgress'])
  const [source, target] = [contextOf(from, 'from'), contextOf(to, 'to')]
  target.databases.assertWritable()
  if (from === to) throw new TypeError('"to" expected another store, got the same one')
  return source.life.run(() => target.life.run(() => new Copy(source, target, options).run()))
}

/** @typedef {(Uint8Array | undefined)[]} Names  multihashes under which a blob is put; `undefined`: its own name */
/** @typedef {{ bytes: Uint8Array, names: Names }} SmallBlob  a blob to keep in the other store */
/** @typedef {{ root: Uint8Array, record: BlobRecord, hasAliases: boolean }} Found */

class Copy {
  #from
  #to
  #options
  #result = /** @type {CopyResult} */ ({ blobs: 0, bytes: 0, tags: 0, failed: [] })
  /** Tells which blobs have aliases; only used when all blobs are copied, in the order of their hashes. */
  #aliases = /** @type {SortedCursor | undefined} */ (undefined)

  /** @param {StoreContext} from @param {StoreContext} to @param {CopyOptions} options */
  constructor (from, to, options) {
    this.#from = from
    this.#to = to
    this.#options = options
  }

  async run () {
    // Read tags before blobs. So the blob of a tag is copied, too, if the store had it when the tag was read.
    const tags = await chosenTags(this.#from, this.#options)
    const releases = (await Promise.all(tags.map(tag => this.#from.tags.blobOf(tag))))
      .flatMap((root, i) => root === undefined ? [] : this.#to.protection.tag(root, tags[i].format))
    const { cids, tags: names, recursive } = this.#options
    // From now on, each sequence that is copied protects the members that are copied after it.
    const protect = (/** @type {Uint8Array} */ root) => { releases.push(this.#to.protection.tag(root, 'hashseq')) }
    const selection = { ...this.#options, ...recursive && { onSequence: protect } }
    if (cids === undefined && names === undefined) this.#aliases = this.#from.aliases.inOrder()
    try {
      const keep = (/** @type {SmallBlob[]} */ batch) => this.#keep(batch)
      for await (const lens of inOrder(this.#smallBatches(tags, selection), () => BATCHES_AHEAD, keep)) {
        for (const len of lens) this.#count(len)
      }
      for (const tag of tags) await this.#copyTag(tag)
    } finally {
      for (const release of releases) release()
      await this.#aliases?.close()
    }
    return this.#result
  }

  /**
   * Gives batches of small blobs. Meanwhile it copies long ones, and those that are present in part.
   *
   * @param {Tag[]} tags @param {SelectionOptions} selection
   * @returns {AsyncGenerator<SmallBlob[]>}
   */
  async * #smallBatches (tags, selection) {
    let batch = /** @type {SmallBlob[]} */ ([])
    let len = 0
    for await (const chosen of chosenBlobs(this.#from, selection, tags, error => this.#failed(undefined, error))) {
      const small = /** @type {Found[]} */ ([])
      const found = await this.#to.catalog.findMany(chosen.map(({ root }) => root))
      for (const [i, { root, record, isSequence }] of chosen.entries()) {
        this.#options.signal?.throwIfAborted()
        const there = found[i].record
        if (record === undefined) {
          this.#failed(root, notFound(root))
          continue
        }
        const blob = { root, record, hasAliases: await this.#mayHaveAliases(root) }
        if (there?.complete) await this.#addNames(blob, there)
        // Write a sequence at once and not in a batch, because it protects the members after it.
        else if (record.complete && record.size <= FILE_FROM && !isSequence) small.push(blob)
        else await this.#copyLong(blob)
      }
      for await (const blob of this.#read(small)) {
        batch.push(blob)
        len += blob.bytes.length
        if (batch.length < BATCH_COUNT && len < BATCH_LEN) continue
        yield batch
        batch = []
        len = 0
      }
    }
    if (batch.length > 0) yield batch
  }

  /** @param {Found[]} small @returns {AsyncGenerator<SmallBlob>} */
  async * #read (small) {
    const { signal } = this.#options
    let i = 0
    for await (const { bytes, error } of this.#from.manyReader.getMany(small.map(({ root }) => root), { signal })) {
      const blob = small[i++]
      if (bytes === undefined) await this.#copyLong(blob, error)
      else yield { bytes, names: await this.#namesOf(blob) }
    }
  }

  /**
   * Keeps small blobs in the other store, each under all of its names.
   *
   * @param {SmallBlob[]} batch
   * @returns {Promise<number[]>} the lengths of the blobs that the other store lacked
   */
  async #keep (batch) {
    const named = batch.flatMap(({ bytes, names }) => names.map(alias => ({ bytes, alias })))
    const kept = this.#to.quota.isLimited
      ? await this.#keepEach(named)
      : await this.#to.manyWriter.keep(named.map(({ bytes }) => bytes), { aliases: named.map(({ alias }) => alias) })
    return kept.filter(({ isNew }) => isNew).map(({ size }) => size)
  }

  /** Keeps blobs one by one, for stores with a quota. @param {{ bytes: Uint8Array, alias?: Uint8Array }[]} named */
  async #keepEach (named) {
    const { signal } = this.#options
    const kept = []
    for (const { bytes, alias } of named) kept.push(await this.#to.writer.put(bytes, { signal }, { alias }))
    return kept
  }

  /**
   * Copies what the other store lacks of a long or partial blob, and then its names.
   *
   * @param {Found} blob
   * @param {unknown} [failure]  the error of an attempt to read the whole blob
   */
  async #copyLong ({ root, hasAliases }, failure = null) {
    const { signal } = this.#options
    const onCopied = (/** @type {number} */ len) => this.#progress(len)
    const { copied, error } = await copySlices(this.#from, this.#to, root, { signal, onCopied })
    const lastFailure = error ?? failure
    if (copied > 0) this.#result.blobs++
    const [{ record }, { record: there }] = [await this.#from.catalog.find(root), await this.#to.catalog.find(root)]
    if (!there?.complete && lastFailure !== null) this.#failed(root, lastFailure)
    // An earlier read has noted damage here.
    else if (!there?.complete && record?.isDamaged) {
      this.#failed(root, missing(root, record.size, await this.#from.presence.missing(record, ChunkRanges.all)))
    }
    if (record?.complete && there?.complete) await this.#addNames({ root, record, hasAliases }, there)
  }

  /** May a blob have aliases here? When all blobs are copied, call this in their order. @param {Uint8Array} root */
  async #mayHaveAliases (root) {
    if (this.#aliases === undefined) return true
    const entry = this.#aliases.find(root)
    return entry.then(found => found !== undefined, () => true) // When they are damaged, look up each alias.
  }

  /** Returns the names of a blob, its own first. @param {Found} blob @returns {Promise<Names>} */
  async #namesOf ({ root, record: { isNameless }, hasAliases }) {
    const aliases = hasAliases ? (await this.#from.aliases.of(root)).map(({ multihash }) => multihash) : []
    return isNameless && aliases.length > 0 ? aliases : [undefined, ...aliases]
  }

  /**
   * Gives the other store the names that a blob has here. The other store has the blob already.
   *
   * @param {Found} blob @param {BlobRecord} there  the record in the other store
   */
  async #addNames (blob, there) {
    const { root, record } = blob
    if (record.size === 0 || (!blob.hasAliases && !there.isNameless)) return
    const { aliases: index, catalog, locks } = this.#to
    const names = await this.#namesOf(blob)
    const aliases = names.filter(name => name !== undefined)
    const lead = await index.rootsOf(aliases)
    const lacking = aliases.filter((_, i) => lead[i] === undefined || !equals(lead[i], root))
    const lacksOwn = names[0] === undefined && there.isNameless
    if (lacking.length === 0 && !lacksOwn) return
    await locks.run(nameOf(root), async () => {
      for (const alias of lacksOwn ? [undefined, ...lacking] : lacking) {
        const { record: now } = await catalog.find(root)
        if (now?.complete) await catalog.putAgain(root, now, alias)
      }
    })
  }

  /** @param {Tag} tag */
  async #copyTag (tag) {
    this.#options.signal?.throwIfAborted()
    const there = await this.#to.tags.get(tag.name).catch(unlessDamaged)
    if (areSameTags(tag, there)) return
    await this.#to.tags.set([tag])
    this.#result.tags++
  }

  /** Notes that a blob was copied. @param {number} len  bytes */
  #count (len) {
    this.#result.blobs++
    this.#progress(len)
  }

  /** @param {number} len  bytes more */
  #progress (len) {
    this.#result.bytes += len
    this.#options.onProgress?.({ type: 'baobox:copy', detail: { done: this.#result.bytes } })
  }

  /**
   * @param {Uint8Array | undefined} root @param {unknown} error
   * @throws the error, if it says more than that this blob cannot be read
   */
  #failed (root, error) {
    if (!isLoss(error)) throw error
    // A blob that was deleted before its turn is no loss, unless the caller has asked for it.
    if (error.code === 'STORE_NOT_FOUND' && this.#options.cids === undefined) return
    this.#result.failed.push({ cid: root && toCid(root), error })
  }
}

/** @param {unknown} error @returns {undefined} */
function unlessDamaged (error) {
  if (!(error instanceof BaoError) || error.code !== 'STORE_CORRUPT') throw error
}
