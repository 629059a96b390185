// Does the work of a writer in docs/decisions/0046: finds objects of blobs that are not condemned, or puts the blobs.
// Then a tag or alias can name them.

import { base16 } from 'multiformats/bases/base16'
import { GROUP_LEN } from '../../../store/interface.js'
import { BaoError } from '../../../lib/core/errors.js'
import { LruCache } from '../../../lib/core/lru.js'
import { forEachOf } from '../../../lib/async/in-order.js'
import { toCid } from '../../../lib/hash/cid.js'
import { isEmptyRoot, nameOf } from '../../../lib/hash/roots.js'
import { outboardLen } from '../../../lib/tree/geometry.js'
import { blobKey, keyOf, newId, outboardKey, parseBlobKey, referenceKey } from '../layout.js'
import { readReference, unlessInvalid } from '../reference.js'
import { EPOCH_MS } from './epochs.js'

/** @import { BlobStore } from '../../../store/index.js' */
/** @import { Locks } from '../../../lib/async/locks.js' */
/** @import { Bucket } from '../bucket.js' */
/** @import { BlobKey } from '../layout.js' */
/** @import { Epochs, Look } from './epochs.js' */

/**
 * @typedef {object} Placement  the objects that are one copy of a blob
 * @property {BlobKey} main  the bytes, or a reference to an adopted object
 * @property {BlobKey} [outboard]  if the blob has more than one group
 * @property {number} size  bytes of the blob, as the bucket says it
 * @property {Date} [modified]  when the main object was written
 * @property {number} since  the time of the last look at `gc/` before the objects were listed, by the clock of the
 *   bucket; 0 if there was none. `isSound` needs it
 * @property {number} seen  when the objects were seen, by `performance.now()`: the clock of the bucket stands still
 *   between its answers. `find` needs it
 */
/**
 * @typedef {{ placement?: Placement, isCondemned: boolean }} Found  `isCondemned`: true if the bucket has objects of
 *   the blob, but all of them are condemned, or some that a copy needs
 */
/**
 * @typedef {{ look?: Look }} Series  calls of `keep` that share looks: the second look of one is the first look of
 *   those that begin later. So a later call does what a slow writer does that has looked at the same time
 */

/** Of how many blobs it is remembered where they are. */
const MAX_KNOWN = 100_000
/** For how many milliseconds `find` believes what was seen. */
const FRESH_MS = 10_000
/** How many objects of one blob are looked at. Usually there are two. */
const MAX_LISTED = 1000
/** How many blobs are looked for at the same time. */
const PARALLEL = 32
/** How often the bytes are put again, because the key was condemned meanwhile. */
const MAX_ROUNDS = 5

export class Placements {
  #bucket
  #epochs
  #local
  #locks
  #known = /** @type {LruCache<string, Placement>} */ (new LruCache(MAX_KNOWN))
  /** How often `forget` was called: what was listed before may be gone. */
  #forgotten = 0

  /** @param {{ bucket: Bucket, epochs: Epochs, local: BlobStore, locks: Locks }} parts */
  constructor ({ bucket, epochs, local, locks }) {
    this.#bucket = bucket
    this.#epochs = epochs
    this.#local = local
    this.#locks = locks
  }

  /**
   * Makes sure that blobs have objects that nobody deletes, and gives them a name.
   *
   * @param {Uint8Array[]} roots  blobs that are in the bucket, or whole in the local store. All others are ignored
   * @param {object} [options]
   * @param {Uint8Array} [options.required]  one of the blobs: STORE_CONDEMNED is thrown if it is nowhere
   * @param {(isThere: (root: Uint8Array) => boolean) => Promise<{ takeBack: () => Promise<void> } | undefined>
   *   } [options.name]  gives the blobs a name. `isThere` says which of them exist. If it returns undefined, the work
   *   ends
   * @param {Series} [options.series]  of calls to which this one belongs
   * @param {AbortSignal} [options.signal]
   * @returns {Promise<boolean>} true if any object was put
   * @throws {BaoError} STORE_CONDEMNED { cid } if a blob is being deleted, and the local store does not have its bytes.
   *   If a later step fails, the name is taken back, if the bucket can be reached. After an abort or
   *   BUCKET_UNKNOWN while the name is written, it may stay
   */
  async keep (roots, { required, name, series = {}, signal } = {}) {
    if (roots.length === 0) {
      await name?.(isEmptyRoot)
      return false
    }
    let look = series.look ?? await this.#epochs.look(signal)
    const relied = /** @type {Map<string, { root: Uint8Array, placement: Placement }>} */ (new Map())
    let isNew = await this.#place(roots, relied, { required, look, signal })
    const isThere = (/** @type {Uint8Array} */ root) => isEmptyRoot(root) || relied.has(nameOf(root))
    if (required !== undefined && !isThere(required)) throw condemned(required)
    const given = await name?.(isThere)
    if (name !== undefined && given === undefined) return isNew
    try {
      for (let rounds = 0; ; rounds++) {
        look = series.look = await this.#epochs.look(signal)
        const lost = [...relied.values()].filter(({ placement }) => !isSound(placement, look)).map(({ root }) => root)
        if (lost.length === 0) return isNew
        if (rounds === MAX_ROUNDS) throw condemned(lost[0])
        isNew = await this.#place(lost, relied, { required, look, signal }) || isNew
      }
    } catch (error) {
      await given?.takeBack().catch(() => {}) // a version that stays was not acknowledged, and protects its blob
      throw error
    }
  }

  /**
   * Finds the objects of blobs, or puts them from the local store.
   *
   * @param {Uint8Array[]} roots
   * @param {Map<string, { root: Uint8Array, placement: Placement }>} relied  gets them
   * @param {{ required?: Uint8Array, look: Look, signal?: AbortSignal }} options
   * @returns {Promise<boolean>} true if any object was put
   */
  async #place (roots, relied, { required, look, signal }) {
    let isNew = false
    await forEachOf(roots, PARALLEL, async root => {
      if (isEmptyRoot(root)) return
      const name = nameOf(root)
      // What was put or received must not depend on an object that its owner may change.
      const isOwn = required !== undefined && nameOf(required) === name
      const hold = this.#local.tempTag(root) // A quota must not evict it between two steps.
      const placed = await this.#locks.run(name, () => this.#placeOne(root, { isOwn, look, signal }))
        .finally(() => hold.release())
      isNew ||= placed.isNew
      if (placed.placement !== undefined) relied.set(name, { root, placement: placed.placement })
      else if (relied.has(name)) throw condemned(root)
    })
    return isNew
  }

  /**
   * Does what `#place` does, for one blob.
   *
   * @param {Uint8Array} root
   * @param {{ isOwn: boolean, look: Look, signal?: AbortSignal }} options  `isOwn`: true to put the bytes if the local
   *   store has them, and the bucket only a reference to an adopted object
   * @returns {Promise<{ placement?: Placement, isNew: boolean }>} without a placement if the blob is nowhere
   */
  async #placeOne (root, { isOwn, look, signal }) {
    const [local] = await this.#local.statMany([root])
    const size = local?.complete ? local.size : undefined
    const takesReference = size === undefined || !isOwn
    const known = this.#known.get(nameOf(root))
    const isRightKind = known?.main.kind === 'bytes' || takesReference
    const isRightSize = size === undefined || known?.size === size // `find` may have seen an object that was cut off.
    if (known !== undefined && isRightKind && isRightSize && isSound(known, look)) {
      return { placement: known, isNew: false }
    }
    if (size !== undefined && size <= GROUP_LEN) {
      const created = await this.#create(root, { size, look, signal })
      if (created !== undefined) return { placement: this.#remember(root, created), isNew: true }
    }
    const { placement, isCondemned, outboard } = await this.#choose(root, { look, size, takesReference, signal })
    if (placement !== undefined) return { placement: this.#remember(root, placement), isNew: false }
    if (size !== undefined) {
      const put = await this.#put(root, { size, outboard, look, signal })
      return { placement: this.#remember(root, put), isNew: true }
    }
    if (isCondemned) throw condemned(root)
    return { isNew: false }
  }

  /**
   * Finds out whether the bucket has a blob. It does not look at `gc/`, but knows what was seen there last. If all
   * copies are condemned, it takes one that is not deleted yet, because a tag may rely on it: `keep` would not take it.
   *
   * @param {Uint8Array} root @param {AbortSignal} [signal] @returns {Promise<Placement | undefined>}
   */
  async find (root, signal) {
    const look = this.#epochs.last
    const known = this.#known.get(nameOf(root))
    const isFresh = known !== undefined && performance.now() - known.seen < FRESH_MS
    if (isFresh && (look === undefined || isSound(known, look))) return known
    const forgotten = this.#forgotten
    let { placement, isCondemned } = await this.#choose(root, { look, signal })
    if (placement === undefined && isCondemned && look !== undefined) {
      ({ placement } = await this.#choose(root, { look, isGone: key => look.isDeleted(key), signal }))
    }
    if (placement === undefined) this.#known.delete(nameOf(root))
    else if (forgotten === this.#forgotten) this.#remember(root, placement)
    return placement
  }

  /** The empty blob is always there. @param {Uint8Array} root @param {AbortSignal} signal */
  async has (root, signal) { return isEmptyRoot(root) || await this.find(root, signal) !== undefined }

  /** Forgets where a blob is. @param {Uint8Array} root */
  forget (root) {
    this.#forgotten++
    this.#known.delete(nameOf(root))
  }

  /** @param {Uint8Array} root @param {Placement} placement */
  #remember (root, placement) {
    this.#known.set(nameOf(root), placement)
    return placement
  }

  /**
   * Lists the objects of a blob, and chooses one copy of which no object is gone.
   *
   * @param {Uint8Array} root
   * @param {object} options
   * @param {Look} [options.look]
   * @param {(key: string) => boolean} [options.isGone]  default: whether `look` says that a key is condemned
   * @param {number} [options.size]  that of the blob, if it is proven
   * @param {boolean} [options.takesReference]  false if only bytes will do. Default: true
   * @param {AbortSignal} [options.signal]
   * @returns {Promise<Found & { outboard?: BlobKey }>} `outboard`: one that can be used, also if there are no bytes
   */
  async #choose (root, options) {
    const { look, isGone = key => look?.isCondemned(key) ?? false, size, takesReference = true, signal } = options
    const hex = base16.baseEncode(root)
    const [since, seen] = [look?.time.before ?? 0, performance.now()]
    const objects = await this.#objectsOf(hex, signal)
    const usable = objects.filter(({ key }) => !isGone(key))
    const outboards = usable.filter(({ parts }) => parts.kind === 'outboard')
    const outboardFor = (/** @type {number} */ len) => outboards.find(({ size }) => size === outboardLen(len))?.parts
    const copies = usable.filter(({ parts }) => parts.kind === 'bytes')
      .filter(object => size === undefined || object.size === size)
    const whole = copies.find(({ size }) => size <= GROUP_LEN || outboardFor(size) !== undefined)
    if (whole !== undefined) {
      const { parts: main, size, modified } = whole
      return { placement: { main, outboard: outboardFor(size), size, modified, since, seen }, isCondemned: false }
    }
    const outboard = size === undefined ? undefined : outboardFor(size)
    if (!takesReference) return { isCondemned: false, outboard }
    const adopted = await this.#findReference(hex, { isGone, size, outboardFor, signal })
    const isCondemned = adopted.isCondemned || objects.length > usable.length
    return { placement: adopted.placement && { ...adopted.placement, since, seen }, isCondemned, outboard }
  }

  /** @param {string} hex @param {AbortSignal} [signal] */
  async #objectsOf (hex, signal) {
    const objects = []
    let left = MAX_LISTED
    for await (const object of this.#bucket.list(blobKey(hex), '', { signal })) {
      const parts = parseBlobKey(object.key)
      if (parts !== undefined) objects.push({ ...object, parts })
      if (--left === 0) break
    }
    return objects
  }

  /**
   * Finds a copy of a blob whose bytes are an adopted object.
   *
   * @param {string} hex
   * @param {object} options
   * @param {(key: string) => boolean} options.isGone
   * @param {number} [options.size]
   * @param {(size: number) => BlobKey | undefined} options.outboardFor
   * @param {AbortSignal} [options.signal]
   * @returns {Promise<{ placement?: Omit<Placement, 'since' | 'seen'>, isCondemned: boolean }>}
   */
  async #findReference (hex, { isGone, size, outboardFor, signal }) {
    let isCondemned = false
    let left = MAX_LISTED
    for await (const { key, modified } of this.#bucket.list(referenceKey(hex), '', { signal })) {
      const main = parseBlobKey(key)
      if (isGone(key)) isCondemned = true
      else if (main !== undefined) {
        const reference = await unlessInvalid(readReference(this.#bucket, key, signal))
        const outboard = reference && outboardFor(reference.size)
        const isRightSize = size === undefined || reference?.size === size
        if (reference !== undefined && isRightSize && (reference.size <= GROUP_LEN || outboard !== undefined)) {
          return { placement: { main, outboard, size: reference.size, modified }, isCondemned: false }
        }
      }
      if (--left === 0) break
    }
    return { isCondemned }
  }

  /**
   * Puts a short blob without a list before it, if there is none under its first key.
   *
   * @param {Uint8Array} root @param {{ size: number, look: Look, signal?: AbortSignal }} options
   * @returns {Promise<Placement | undefined>} undefined if there is one, or the key is condemned
   */
  async #create (root, { size, look, signal }) {
    const main = /** @type {BlobKey} */ ({ kind: 'bytes', hex: base16.baseEncode(root), id: '' })
    if (look.isCondemned(keyOf(main))) return undefined
    const bytes = await this.#local.bytes(root, undefined, { signal })
    const { isWritten } = await this.#bucket.put(keyOf(main), bytes, { ifAbsent: true, signal })
    if (!isWritten) return undefined
    const modified = new Date(this.#epochs.now)
    return { main, size, modified, since: look.time.before, seen: performance.now() }
  }

  /**
   * Puts a blob that the local store has whole, and holds: first the outboard.
   *
   * @param {Uint8Array} root
   * @param {{ size: number, id?: string, outboard?: BlobKey, look: Look, signal?: AbortSignal }} options  `id`: of the
   *   new objects; default: one that nobody has condemned
   * @returns {Promise<Placement>}
   */
  async #put (root, { size, id, outboard, look, signal }) {
    const hex = base16.baseEncode(root)
    id ??= look.isCondemned(blobKey(hex)) ? newId() : ''
    const main = /** @type {BlobKey} */ ({ kind: 'bytes', hex, id })
    if (size <= GROUP_LEN) outboard = undefined
    else if (outboard === undefined) {
      outboard = { kind: 'outboard', hex, id: look.isCondemned(outboardKey(hex, id)) ? newId() : id }
      const pairs = this.#local.outboard(root, { range: { start: 0 }, signal })
      await this.#bucket.putParts(keyOf(outboard), pairs, { size: outboardLen(size), signal })
    }
    const pieces = this.#local.get(root, undefined, { signal })
    await this.#bucket.putParts(keyOf(main), pieces, { size, signal })
    const modified = new Date(this.#epochs.now)
    return { main, outboard, size, modified, since: look.time.before, seen: performance.now() }
  }

  /**
   * Puts a damaged blob again, over all its copies: a reader takes any of them.
   *
   * @param {Uint8Array} root
   * @param {() => AsyncGenerator<AsyncGenerator<Uint8Array>>} sources  gives what may be its bytes, if the local store
   *   does not have them
   * @param {AbortSignal} [signal]
   * @returns {Promise<boolean>} false if no source has its bytes
   */
  async replace (root, sources, signal) {
    const look = await this.#epochs.look(signal)
    const isReplaced = await this.#locks.run(nameOf(root), async () => {
      const hold = this.#local.tempTag(root)
      try {
        const size = await this.#fetchHere(root, sources, signal)
        if (size === undefined) return false
        const copies = (await this.#objectsOf(base16.baseEncode(root), signal))
          .filter(({ key, parts }) => parts.kind === 'bytes' && !look.isCondemned(key))
        for (const id of copies.length === 0 ? [undefined] : copies.map(({ parts }) => parts.id)) {
          this.#remember(root, await this.#put(root, { size, id, look, signal }))
        }
        return true
      } finally {
        hold.release()
      }
    })
    if (isReplaced) await this.keep([root], { required: root, signal }) // It may have been condemned since.
    return isReplaced
  }

  /**
   * Makes sure that the local store has the right bytes of a blob.
   *
   * @param {Uint8Array} root @param {() => AsyncGenerator<AsyncGenerator<Uint8Array>>} sources
   * @param {AbortSignal} [signal]
   * @returns {Promise<number | undefined>} the size; undefined if no source has the bytes
   */
  async #fetchHere (root, sources, signal) {
    const [local] = await this.#local.statMany([root])
    if (local?.complete) return local.size
    for await (const source of sources()) {
      try {
        return (await this.#local.put(source, { expect: root, alwaysRead: true, signal })).size
      } catch (error) {
        if (!(error instanceof BaoError) || error.code !== 'CID_MISMATCH') throw error
      }
    }
  }

  /**
   * Returns the keys of all objects of a blob.
   *
   * @param {Uint8Array} root @param {AbortSignal} [signal]
   * @returns {Promise<{ key: string, size: number }[]>}
   */
  async allKeys (root, signal) {
    const hex = base16.baseEncode(root)
    const keys = (await this.#objectsOf(hex, signal)).map(({ key, size }) => ({ key, size }))
    for await (const { key } of this.#bucket.list(referenceKey(hex), '', { signal })) {
      if (parseBlobKey(key) !== undefined) keys.push({ key, size: 0 })
    }
    return keys
  }
}

/**
 * True if a name may rely on a copy of a blob: none of its objects is condemned, and they were seen in the last week.
 * Folders of older epochs may be gone.
 *
 * @param {Placement} placement @param {Look} look
 */
const isSound = ({ main, outboard, since }, look) => look.time.after - since < EPOCH_MS &&
  !look.isCondemned(keyOf(main)) && !(outboard && look.isCondemned(keyOf(outboard)))

/** @param {Uint8Array} root */
export const condemned = root => new BaoError('STORE_CONDEMNED',
  `${toCid(root)} is being deleted from the bucket, and its bytes are not here: put it again`, { cid: toCid(root) })
