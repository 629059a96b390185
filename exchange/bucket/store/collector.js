// Deletes blobs from a bucket that others may use at the same time: the collector of docs/decisions/0046. Each deletion
// is an epoch: condemned keys are published, what is protected is looked at again, and then the keys are deleted.

import { base16 } from 'multiformats/bases/base16'
import { tagged } from '../../../store/interface.js'
import { BaoError } from '../../../lib/core/errors.js'
import { HashSet } from '../../../lib/core/hash-set.js'
import { eachOf, forEachOf, inOrder } from '../../../lib/async/in-order.js'
import { nameOf } from '../../../lib/hash/roots.js'
import { toCid } from '../../../lib/hash/cid.js'
import { parseBlobKey } from '../layout.js'
import { EPOCH_MS } from './epochs.js'
import { MAX_KEYS, encodeKeys } from './key-list.js'

/** @import { BlobStore, GcOptions } from '../../../store/index.js' */
/** @import { Bucket, ListedObject } from '../bucket.js' */
/** @import { OwnEpoch, Epochs } from './epochs.js' */
/** @import { PartialBlobs } from './partial.js' */
/** @import { Placements } from './placements.js' */
/** @import { BucketTags, Tag } from './tags.js' */

/** @typedef {{ key: string, hex: string, bytes: number }} Candidate  an object that may be deleted */

/** Folders of epochs are removed 30 days after they begin. */
const MAX_FOLDER_AGE = 30 * 24 * 60 * 60 * 1000
/** An upload that began longer ago was left by a process that is gone. */
const MAX_UPLOAD_AGE = EPOCH_MS
/** How many objects are deleted at the same time. */
const PARALLEL = 32
/** Blobs between two reports of progress. */
const PROGRESS_STEP = 1000

export class BucketCollector {
  #bucket
  #epochs
  #local
  #partial
  #untaggedTtl
  #placements
  #tags

  /**
   * @param {object} parts
   * @param {Bucket} parts.bucket
   * @param {Epochs} parts.epochs
   * @param {BlobStore} parts.local
   * @param {PartialBlobs} parts.partial
   * @param {number} parts.untaggedTtl  milliseconds
   * @param {Placements} parts.placements
   * @param {BucketTags} parts.tags
   */
  constructor ({ bucket, epochs, local, partial, untaggedTtl, placements, tags }) {
    this.#bucket = bucket
    this.#epochs = epochs
    this.#local = local
    this.#partial = partial
    this.#untaggedTtl = untaggedTtl
    this.#placements = placements
    this.#tags = tags
  }

  /**
   * Deletes the blobs that no tag protects, if they are old enough. It finishes what other collectors have left.
   *
   * @param {Omit<GcOptions, 'compact'>} options @param {AbortSignal} signal
   * @returns {Promise<{ blobs: number, bytes: number }>}
   */
  async gc ({ dryRun = false, onBlob, onProgress }, signal) {
    const counts = { blobs: 0, bytes: 0 }
    const { epochs } = await this.#epochs.look(signal)
    if (!dryRun) {
      for (const epoch of epochs) {
        const left = await this.#epochs.unfinished(epoch, signal)
        if (left !== undefined) await this.#sweep(left.epoch, left.keys)
      }
    }
    let done = 0
    const onBlobSeen = () => {
      if (++done % PROGRESS_STEP === 0) onProgress?.({ type: 'baobox:gc', detail: { done, unit: 'blobs' } })
    }
    let marks = await this.#mark(signal)
    for (let after = ''; ; marks = await this.#mark(signal)) {
      const { candidates, last } = await this.#unmarked(marks, { after, onBlobSeen, signal })
      const deleted = dryRun ? candidates : await this.#condemn(candidates, () => this.#mark(signal), signal)
      for (const { hex, bytes } of blobsOf(deleted)) {
        counts.blobs++
        counts.bytes += bytes
        onBlob?.({ cid: toCid(base16.baseDecode(hex)), bytes })
      }
      if (last === undefined) break
      after = last
    }
    onProgress?.({ type: 'baobox:gc', detail: { done, unit: 'blobs' } })
    if (!dryRun) {
      for await (const { cid, bytes } of this.#partial.deleteOld(marks, this.#untaggedTtl)) {
        counts.blobs++
        counts.bytes += bytes
        onBlob?.({ cid, bytes })
      }
      await this.#epochs.removeOld((await this.#epochs.look(signal)).epochs, MAX_FOLDER_AGE, signal)
      await this.#abortUploads(signal)
    }
    return counts
  }

  /** Deletes the parts that processes have left which were killed during an upload. @param {AbortSignal} signal */
  async #abortUploads (signal) {
    try {
      await this.#bucket.abortUploads(new Date(this.#epochs.now - MAX_UPLOAD_AGE), { signal })
    } catch (error) {
      // Not everybody who may delete objects may list uploads.
      if (!(error instanceof BaoError && error.code === 'BUCKET_REFUSED')) throw error
    }
  }

  /**
   * Deletes some blobs, however old they are.
   *
   * @param {Uint8Array[]} roots @param {{ force: boolean }} options @param {AbortSignal} signal
   * @returns {Promise<{ blobs: number, bytes: number, refusal?: BaoError }>} `refusal`: STORE_TAGGED { cid, tag } if a
   *   tag names one of them. Only the blobs before it are deleted
   */
  async delete (roots, { force }, signal) {
    const tag = force ? undefined : await this.#firstTag(roots, signal)
    const before = roots.slice(0, tag?.index)
    const found = inOrder(eachOf(before), () => PARALLEL - 1, root => this.#placements.allKeys(root, signal))
    const candidates = []
    for await (const objects of found) {
      for (const { key, size } of objects) candidates.push(candidateOf(key, size))
    }
    const none = new HashSet()
    const deleted = await this.#condemn(candidates, async () => force ? none : this.#markNamed(signal), signal)
    const counts = { blobs: 0, bytes: 0 }
    for (const { bytes } of blobsOf(deleted)) {
      counts.blobs++
      counts.bytes += bytes
    }
    return { ...counts, refusal: tag && tagged(roots[tag.index], tag.name) }
  }

  /**
   * Condemns keys, and deletes those of blobs that have not become protected.
   *
   * @param {Candidate[]} candidates @param {() => Promise<HashSet>} mark  finds the protected blobs again
   * @param {AbortSignal} signal
   * @returns {Promise<Candidate[]>} those that were deleted
   */
  async #condemn (candidates, mark, signal) {
    const deleted = []
    for (let at = 0; at < candidates.length; at += MAX_KEYS) {
      const some = candidates.slice(at, at + MAX_KEYS)
      const epoch = await this.#epochs.begin(signal)
      const dead = await this.#publish(epoch, some, mark).catch(async error => {
        // Otherwise nobody could rely on these keys for weeks, although nobody deletes them.
        await epoch.giveUp().catch(() => {}) // The first error is the one to throw.
        throw error
      })
      await this.#sweep(epoch, dead.map(({ key }) => key))
      for (const candidate of dead) deleted.push(candidate)
    }
    return deleted
  }

  /**
   * Creates `dead` and `final` of an epoch.
   *
   * @param {OwnEpoch} epoch @param {Candidate[]} candidates @param {() => Promise<HashSet>} mark
   * @returns {Promise<Candidate[]>} those in `final`
   */
  async #publish (epoch, candidates, mark) {
    await epoch.create('dead', encodeKeys(candidates.map(({ key }) => key)))
    const marks = await mark()
    const dead = candidates.filter(({ hex }) => !marks.has(nameOf(base16.baseDecode(hex))))
    await epoch.create('final', encodeKeys(dead.map(({ key }) => key)))
    return dead
  }

  /** @param {OwnEpoch} epoch @param {string[]} keys */
  async #sweep (epoch, keys) {
    // Outboards last: bytes without an outboard would be a damaged blob.
    const isOutboard = (/** @type {string} */ key) => parseBlobKey(key)?.kind === 'outboard'
    for (const some of [keys.filter(key => !isOutboard(key)), keys.filter(isOutboard)]) {
      await forEachOf(some, PARALLEL, key => epoch.delete(key))
    }
    await epoch.create('done')
    const hashes = new Set(keys.flatMap(key => parseBlobKey(key)?.hex ?? []))
    await forEachOf(hashes, PARALLEL, async hex => {
      this.#placements.forget(base16.baseDecode(hex))
      // A blob that is being received here, or is put again, stays here.
      await this.#local.delete(hex).catch(error => { if (error.code !== 'STORE_TAGGED') throw error })
    })
  }

  /** Finds the protected blobs. @param {AbortSignal} signal */
  async #mark (signal) {
    const marks = new HashSet()
    const sequences = /** @type {Set<string>} */ (new Set())
    for await (const { root, tag } of this.#named(signal)) {
      marks.add(root)
      if (tag.format === 'hashseq') sequences.add(base16.baseEncode(root))
    }
    for (const hex of sequences) {
      for await (const member of this.#tags.members(base16.baseDecode(hex), signal)) marks.add(member)
    }
    return marks
  }

  /** Finds the blobs that tags name. @param {AbortSignal} signal */
  async #markNamed (signal) {
    const marks = new HashSet()
    for await (const { root } of this.#named(signal)) marks.add(root)
    return marks
  }

  /**
   * Finds the first of some blobs that a tag names.
   *
   * @param {Uint8Array[]} roots @param {AbortSignal} signal
   * @returns {Promise<{ index: number, name: string } | undefined>} `name`: of the tag
   */
  async #firstTag (roots, signal) {
    // Of a root that comes twice, the first index counts.
    const indices = new Map(roots.map((root, index) => /** @type {const} */ ([nameOf(root), index])).reverse())
    let first
    for await (const { root, tag } of this.#named(signal)) {
      const index = indices.get(nameOf(root))
      if (index !== undefined && index < (first?.index ?? Infinity)) first = { index, name: tag.name }
    }
    return first
  }

  /**
   * Lists the tags that protect a blob, with the roots of the blobs.
   *
   * @param {AbortSignal} signal @returns {AsyncGenerator<{ root: Uint8Array, tag: Tag }>}
   */
  async * #named (signal) {
    for await (const tag of this.#tags.protecting(signal)) {
      const root = await this.#tags.rootOf(tag, signal)
      if (root !== undefined) yield { root, tag }
    }
  }

  /**
   * Lists the objects of blobs without a mark that are old enough.
   *
   * @param {HashSet} marks @param {{ after: string, onBlobSeen: () => void, signal: AbortSignal }} options  `after`: a
   *   key
   * @returns {Promise<{ candidates: Candidate[], last?: string }>} `last`: the key after which the next call goes on
   */
  async #unmarked (marks, { after, onBlobSeen, signal }) {
    const candidates = /** @type {Candidate[]} */ ([])
    let last = after
    for (const folder of ['blobs/', 'refs/']) {
      const from = after.startsWith(folder) ? after : ''
      if (from === '' && after > folder) continue
      for await (const objects of this.#blobsIn(folder, from, signal)) {
        onBlobSeen()
        // A new copy may use an old outboard, so a blob is as old as its newest object.
        const newest = Math.max(...objects.map(({ modified }) => modified?.getTime() ?? Infinity))
        const isOld = this.#epochs.now - newest >= this.#untaggedTtl
        const parts = parseBlobKey(objects[0].key)
        if (isOld && parts !== undefined && !marks.has(nameOf(base16.baseDecode(parts.hex)))) {
          if (candidates.length > 0 && candidates.length + objects.length > MAX_KEYS) return { candidates, last }
          for (const { key, size } of objects) candidates.push(candidateOf(key, size))
        }
        last = objects[objects.length - 1].key
      }
    }
    return { candidates }
  }

  /**
   * Lists the objects of blobs.
   *
   * @param {string} folder @param {string} after  a key @param {AbortSignal} signal
   * @returns {AsyncGenerator<ListedObject[]>} those of one blob at a time, as many as fit into an epoch
   */
  async * #blobsIn (folder, after, signal) {
    let objects = /** @type {ListedObject[]} */ ([])
    let hex = ''
    for await (const object of this.#bucket.list(folder, after, { signal })) {
      const parts = parseBlobKey(object.key)
      if (parts === undefined) continue
      if (objects.length > 0 && (parts.hex !== hex || objects.length === MAX_KEYS)) {
        yield objects
        objects = []
      }
      hex = parts.hex
      objects.push(object)
    }
    if (objects.length > 0) yield objects
  }
}

/** @param {string} key @param {number} size  of the object @returns {Candidate} */
function candidateOf (key, size) {
  const { kind, hex } = /** @type {import('../layout.js').BlobKey} */ (parseBlobKey(key))
  return { key, hex, bytes: kind === 'bytes' ? size : 0 }
}

/** Joins the objects of each blob. @param {Candidate[]} candidates */
function blobsOf (candidates) {
  const blobs = /** @type {Map<string, { hex: string, bytes: number }>} */ (new Map())
  for (const { hex, bytes } of candidates) {
    const blob = blobs.get(hex)
    if (blob === undefined) blobs.set(hex, { hex, bytes })
    else blob.bytes = Math.max(blob.bytes, bytes)
  }
  return blobs.values()
}
