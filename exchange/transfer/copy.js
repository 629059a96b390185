// Copies the blobs and tags that another open store lacks. So the first run makes a backup, and every later run updates
// the backup, even while the source is being written to. After an interruption, the next run continues.

import { assertKnownOptions } from '../../lib/core/options.js'
import { FILE_FROM, areSameTags, assertStore, assertWritable, missing, notFound } from '../../store/interface.js'
import {
  assertSelection, blobOf, chosenBlobs, chosenTags, hasOwnName, isGone, isLoss, unlessLoss
} from './chosen-blobs.js'
import { copySlices, isUnproven } from './copy-slices.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BaoError } from '../../lib/core/errors.js' */
/** @import { ProgressOptions, Source } from '../../lib/core/types.js' */
/** @import { NamedSource, BlobStat, TagInfo, TempTag } from '../../store/index.js' */
/** @import { Store } from '../../store/interface.js' */
/** @import { Chosen, SelectionOptions } from './chosen-blobs.js' */

/** @typedef {SelectionOptions & ProgressOptions} CopyOptions  `onProgress` gets `baobox:copy`, in bytes copied */

/**
 * @typedef {object} CopyResult
 * @property {number} blobs  how many blobs were copied, wholly or in part
 * @property {number} bytes  bytes that were copied. A blob of up to 1 MiB counts with all of its bytes, a longer one
 *   with those that were missing
 * @property {number} tags  how many tags were set in the other store
 * @property {{ cid?: CID, error: BaoError }[]} failed  blobs that cannot be read here and are not whole in the other
 *   store. `error` is the error that `get` would throw. There is no `cid` if a damaged record or sequence of hashes
 *   hides which blobs they are
 */

/**
 * Copies the blobs, whole or in part, their aliases, and the tags that another open store lacks. Both stores may be
 * used during the copy. After an interruption, copied data stays, and another call copies the rest. Nothing is deleted
 * from the other store, but a tag there is replaced with the tag of the same name.
 *
 * Damage does not stop the copy: everything else is copied, even the undamaged parts of a damaged blob.
 *
 * @param {Store} from @param {Store} to  an open store, which is written to
 * @param {CopyOptions} [options]  `cids`: only these blobs; with `recursive`, the members of these sequences as well;
 *   `tags`: only these tags, and the blobs that they protect
 * @returns {Promise<CopyResult>}
 * @throws {BaoError} STORE_TAG_NOT_FOUND { tag }; and the errors of writing to the other store
 */
export async function copy (from, to, options = {}) {
  assertSelection(options)
  assertKnownOptions(options, ['cids', 'tags', 'recursive', 'signal', 'onProgress'])
  assertStore(from, 'from')
  assertStore(to, 'to')
  assertWritable(to)
  if (from === to) throw new TypeError('"to" expected another store, got the same one')
  return new Copy(from, to, options).run()
}

class Copy {
  #from
  #to
  #options
  #result = /** @type {CopyResult} */ ({ blobs: 0, bytes: 0, tags: 0, failed: [] })

  /** @param {Store} from @param {Store} to @param {CopyOptions} options */
  constructor (from, to, options) {
    this.#from = from
    this.#to = to
    this.#options = options
  }

  async run () {
    // Read tags before blobs, so that the blob of a tag is copied, too, if the store had it when the tag was read.
    const tags = await chosenTags(this.#from, this.#options)
    const hold = this.#to.tempTag()
    try {
      for (const tag of tags) {
        const cid = await blobOf(this.#from, tag)
        if (cid !== undefined) hold.add(cid, { format: tag.format })
      }
      for await (const { size, isNew } of this.#to.putMany(this.#smallBlobs(tags, hold))) {
        if (!isNew) continue
        this.#result.blobs++
        this.#progress(size)
      }
      for (const tag of tags) await this.#copyTag(tag)
    } finally {
      hold.release()
    }
    return this.#result
  }

  /**
   * Yields small blobs, each once for each of its names. Copies long and partial blobs itself, in between.
   *
   * @param {TagInfo[]} tags @param {TempTag} hold
   * @returns {AsyncGenerator<Source | NamedSource>}
   */
  async * #smallBlobs (tags, hold) {
    const { signal } = this.#options
    const choice = {
      tags,
      deleted: true,
      // From now on, each copied sequence protects the members that are copied after it.
      onSequence: (/** @type {CID} */ cid) => hold.add(cid, { format: 'hashseq' }),
      onUnreadable: (/** @type {unknown} */ error) => this.#failed(undefined, error)
    }
    for await (const chosen of chosenBlobs(this.#from, this.#options, choice)) {
      const small = /** @type {Chosen[]} */ ([])
      const found = await this.#to.statMany(chosen.map(({ cid }) => cid))
      for (const [i, blob] of chosen.entries()) {
        signal?.throwIfAborted()
        const { cid, stat, isSequence } = blob
        const there = found[i]
        if (stat === undefined) this.#failed(cid, notFound(cid.multihash.digest))
        else if (there?.complete) await this.#addNames(blob, there)
        // Write a sequence now instead of in a batch, because it protects the members after it.
        else if (stat.complete && stat.size <= FILE_FROM && !isSequence) small.push(blob)
        else await this.#copyLong(blob)
      }
      if (small.length === 0) continue
      let at = 0
      for await (const { bytes, error } of this.#from.getMany(small.map(({ cid }) => cid), { signal })) {
        const blob = small[at++]
        if (bytes === undefined) {
          await this.#copyLong(blob, error)
          continue
        }
        if (hasOwnName(blob)) yield bytes
        for (const alias of blob.aliases) yield { source: bytes, alias }
      }
    }
  }

  /**
   * Copies the chunks of a long or partial blob that the other store lacks, and then its names.
   *
   * @param {Chosen} blob
   * @param {unknown} [failure]  the error of an attempt to read the whole blob
   */
  async #copyLong (blob, failure = null) {
    const { cid } = blob
    const { signal } = this.#options
    const onCopied = (/** @type {number} */ len) => this.#progress(len)
    const { copied, error } = await copySlices(this.#from, this.#to, cid, { signal, onCopied })
    const lastFailure = error ?? failure
    if (copied > 0) this.#result.blobs++
    const [[here], [there]] = [await this.#from.statMany([cid]), await this.#to.statMany([cid])]
    if (there?.complete) {
      if (here?.complete) await this.#addNames(blob, there)
    } else if (lastFailure !== null) {
      this.#failed(cid, lastFailure)
    } else if (here?.isDamaged) { // An earlier read has noted damage here.
      this.#failed(cid, missing(cid.multihash.digest, here.size, await this.#from.missing(cid)))
    }
  }

  /**
   * Gives the other store the names that a blob has here. The other store already has the blob.
   *
   * @param {Chosen} blob @param {BlobStat} there  of the blob in the other store
   */
  async #addNames (blob, there) {
    const { cid, stat, aliases } = blob
    if (stat?.size === 0 || (aliases.length === 0 && !there.isAliasOnly)) return
    const lead = await this.#to.aliases.resolveMany(aliases)
    const lacking = aliases.filter((_, i) => !lead[i]?.equals(cid))
    if (there.isAliasOnly && hasOwnName(blob)) lacking.push(cid)
    for (const name of lacking) {
      await this.#to.aliases.add(cid, name).catch(unlessLoss) // the blob may have been deleted there
    }
  }

  /** @param {TagInfo} tag */
  async #copyTag (tag) {
    this.#options.signal?.throwIfAborted()
    const { name, cid, ...options } = tag
    const there = await this.#to.tags.get(name).catch(unlessLoss) // the tag may be damaged there
    if (areSameTags(tag, there)) return
    await this.#to.tags.set(name, cid, options)
    this.#result.tags++
  }

  /** @param {number} len  how many more bytes */
  #progress (len) {
    this.#result.bytes += len
    this.#options.onProgress?.({ type: 'baobox:copy', detail: { done: this.#result.bytes, unit: 'bytes' } })
  }

  /**
   * @param {CID | undefined} cid @param {unknown} error
   * @throws the error, unless it only means that this blob cannot be read
   */
  #failed (cid, error) {
    if (!isLoss(error) && !isUnproven(error)) throw error
    // A blob that was deleted before it was read does not count as failed, unless the caller has asked for this blob.
    if (isGone(error) && this.#options.cids === undefined) return
    this.#result.failed.push({ cid, error })
  }
}
