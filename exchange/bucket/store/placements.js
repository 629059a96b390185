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
 * @property {number} seen  the time of the list, which `find` needs
 */
/**
 * @typedef {{ placement?: Placement, isCondemned: boolean }} Found  `isCondemned`: true if the bucket has objects of
 *   the blob, but all of them are condemned, or some that a copy needs
 */

/** Of how many blobs it is remembered where they are. */
const MAX_KEPT = 100_000
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
  #kept = /** @type {LruCache<string, Placement>} */ (new LruCache(MAX_KEPT))

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
   * @param {AbortSignal} [options.signal]
   * @returns {Promise<boolean>} true if any object was put
   * @throws {BaoError} STORE_CONDEMNED { cid } if a blob is being deleted, and the local store does not have its bytes.
   *   After an error behind the name, the name is taken back, if the bucket can be reached. After an abort or
   *   BUCKET_UNKNOWN while the name is written, it may stay
   */
  async keep (roots, { required, name, signal } = {}) {
    if (roots.length === 0) {
      await name?.(isEmptyRoot)
      return false
    }
    let look = await this.#epochs.look(signal)
    const relied = /** @type {Map<string, { root: Uint8Array, placement: Placement }>} */ (new Map())
    let isNew = await this.#place(roots, relied, look, signal)
    const isThere = (/** @type {Uint8Array} */ root) => isEmptyRoot(root) || relied.has(nameOf(root))
    if (required !== undefined && !isThere(required)) throw condemned(required)
    const given = await name?.(isThere)
    if (name !== undefined && given === undefined) return isNew
    try {
      for (let rounds = 0; ; rounds++) {
        look = await this.#epochs.look(signal)
        const lost = [...relied.values()].filter(({ placement }) => !isSound(placement, look)).map(({ root }) => root)
        if (lost.length === 0) return isNew
        if (rounds === MAX_ROUNDS) throw condemned(lost[0])
        isNew = await this.#place(lost, relied, look, signal) || isNew
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
   * @param {Look} look @param {AbortSignal} [signal]
   * @returns {Promise<boolean>} true if any object was put
   */
  async #place (roots, relied, look, signal) {
    let isNew = false
    await forEachOf(roots, PARALLEL, async root => {
      if (isEmptyRoot(root)) return
      const hold = this.#local.tempTag(root) // A quota must not evict it between two steps.
      const placed = await this.#locks.run(nameOf(root), () => this.#placeOne(root, look, signal))
        .finally(() => hold.release())
      isNew ||= placed.isNew
      const name = nameOf(root)
      if (placed.placement !== undefined) relied.set(name, { root, placement: placed.placement })
      else if (relied.has(name)) throw condemned(root)
    })
    return isNew
  }

  /**
   * @param {Uint8Array} root @param {Look} look @param {AbortSignal} [signal]
   * @returns {Promise<{ placement?: Placement, isNew: boolean }>} without a placement if the blob is nowhere
   */
  async #placeOne (root, look, signal) {
    const [local] = await this.#local.statMany([root])
    const size = local?.complete ? local.size : undefined
    const kept = this.#kept.get(nameOf(root))
    // What `find` has kept may be an object that was cut off.
    if (kept !== undefined && isSound(kept, look) && kept.size === (size ?? kept.size)) {
      return { placement: kept, isNew: false }
    }
    if (size !== undefined && size <= GROUP_LEN) {
      const created = await this.#create(root, { size, look, signal })
      if (created !== undefined) return { placement: this.#remember(root, created), isNew: true }
    }
    const { placement, isCondemned, outboard } = await this.#find(root, { look, size, signal })
    if (placement !== undefined) return { placement: this.#remember(root, placement), isNew: false }
    if (size !== undefined) {
      const put = await this.#put(root, { size, outboard, look, signal })
      return { placement: this.#remember(root, put), isNew: true }
    }
    if (isCondemned) throw condemned(root)
    return { isNew: false }
  }

  /**
   * Finds out whether the bucket has a blob. It does not look at `gc/`, but knows what was seen there last.
   *
   * @param {Uint8Array} root @param {AbortSignal} [signal] @returns {Promise<Placement | undefined>}
   */
  async find (root, signal) {
    const look = this.#epochs.last
    const kept = this.#kept.get(nameOf(root))
    const isFresh = kept !== undefined && this.#epochs.now - kept.seen < FRESH_MS
    if (isFresh && (look === undefined || isSound(kept, look))) return kept
    const { placement } = await this.#find(root, { look, signal })
    if (placement === undefined) this.#kept.delete(nameOf(root))
    return placement && this.#remember(root, placement)
  }

  /** Forgets where a blob is. @param {Uint8Array} root */
  forget (root) { this.#kept.delete(nameOf(root)) }

  /** @param {Uint8Array} root @param {Placement} placement */
  #remember (root, placement) {
    this.#kept.set(nameOf(root), placement)
    return placement
  }

  /**
   * Lists the objects of a blob, and chooses one copy of which no object is condemned.
   *
   * @param {Uint8Array} root
   * @param {{ look?: Look, size?: number, signal?: AbortSignal }} options  `size`: that of the blob, if it is proven
   * @returns {Promise<Found & { outboard?: BlobKey }>} `outboard`: one that can be used, also if there are no bytes
   */
  async #find (root, { look, size, signal }) {
    const hex = base16.baseEncode(root)
    const [since, seen] = [look?.time.before ?? 0, this.#epochs.now]
    const objects = await this.#objectsOf(hex, signal)
    const usable = objects.filter(({ key }) => !look?.isCondemned(key))
    const outboards = usable.filter(({ parts }) => parts.kind === 'outboard')
    const outboardFor = (/** @type {number} */ len) => outboards.find(({ size }) => size === outboardLen(len))?.parts
    const copies = usable.filter(({ parts }) => parts.kind === 'bytes')
      .filter(object => size === undefined || object.size === size)
    const whole = copies.find(({ size }) => size <= GROUP_LEN || outboardFor(size) !== undefined)
    if (whole !== undefined) {
      const { parts: main, size, modified } = whole
      return { placement: { main, outboard: outboardFor(size), size, modified, since, seen }, isCondemned: false }
    }
    // If the bytes are here, they are put: to look for an adopted object would cost each new blob a request.
    if (size !== undefined) return { isCondemned: false, outboard: outboardFor(size) }
    const adopted = await this.#findReference(hex, { look, outboardFor, signal })
    const isCondemned = adopted.isCondemned || objects.length > usable.length
    return { placement: adopted.placement && { ...adopted.placement, since, seen }, isCondemned }
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
   * @param {string} hex
   * @param {{ look?: Look, outboardFor: (size: number) => BlobKey | undefined, signal?: AbortSignal }} options
   * @returns {Promise<{ placement?: Omit<Placement, 'since' | 'seen'>, isCondemned: boolean }>}
   */
  async #findReference (hex, { look, outboardFor, signal }) {
    let isCondemned = false
    let left = MAX_LISTED
    for await (const { key, modified } of this.#bucket.list(referenceKey(hex), '', { signal })) {
      const main = parseBlobKey(key)
      if (look?.isCondemned(key)) isCondemned = true
      else if (main !== undefined) {
        const reference = await unlessInvalid(readReference(this.#bucket, key, signal))
        const outboard = reference && outboardFor(reference.size)
        if (reference !== undefined && (reference.size <= GROUP_LEN || outboard !== undefined)) {
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
    const seen = this.#epochs.now
    return isWritten ? { main, size, modified: new Date(seen), since: look.time.before, seen } : undefined
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
    const seen = this.#epochs.now
    return { main, outboard, size, modified: new Date(seen), since: look.time.before, seen }
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
