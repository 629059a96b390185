// The blobs that a store must have after some calls have failed: everything acknowledged, and of the rest all or
// nothing.
import { ChunkRanges, hash } from '../../../lib/index.js'
import { same } from '../../support/bytes.js'
import { listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { covers } from './look.js'

const blobs = new Map()

/** The bytes of a blob, and their hash. @param {number} len  differs for each blob */
export function blobOf (len) {
  if (!blobs.has(len)) {
    const bytes = noise(len, len)
    blobs.set(len, { bytes, root: hash(bytes) })
  }
  return blobs.get(len)
}

/** Gives the blob of a length other bytes. @param {Uint8Array} bytes */
export const nameBlob = bytes => blobs.set(bytes.length, { bytes, root: hash(bytes) })

class Blob {
  /** Bytes that must be present. */
  ranges = /** @type {[number, number][]} */ ([])
  /** True if nothing may be present. */
  isGone = true
  /** The bytes that must be present if any are: a deletion has failed. */
  rangesIfThere = /** @type {[number, number][]} */ ([])
  /** True if it may have lost anything. Then only the bytes of reads must be right. */
  isDamaged = false

  copy () { return Object.assign(new Blob(), { ...this, ranges: [...this.ranges] }) }
}

export class Model {
  #blobs = /** @type {Map<number, Blob>} */ (new Map())
  /** The blobs that each tag may name; undefined for none. */
  #tags = /** @type {Map<string, Set<number | undefined>>} */ (new Map())

  copy () {
    const copy = new Model()
    for (const [len, blob] of this.#blobs) copy.#blobs.set(len, blob.copy())
    for (const [name, lens] of this.#tags) copy.#tags.set(name, new Set(lens))
    return copy
  }

  /** Notes a call that keeps blobs. @param {number[]} lens */
  begin (lens) { for (const len of lens) this.#blob(len).isGone = false }

  /** Notes a call that keeps a blob, or some of its bytes. @param {Promise<unknown>} keeping */
  async keep (len, keeping, { tag, start = 0, end = len } = {}) {
    const blob = this.#blob(len)
    blob.isGone = false
    if (tag !== undefined) this.#mayName(tag, len)
    const result = await keeping
    blob.ranges.push([start, end])
    if (tag !== undefined) this.#tags.set(tag, new Set([len]))
    return result
  }

  /** @param {number[]} lens @param {Promise<unknown>} deleting */
  async lose (lens, deleting) {
    this.#mayLose(lens)
    const result = await deleting
    for (const len of lens) this.#forget(len)
    return result
  }

  /** Notes a garbage collection: blobs without a tag are gone. @param {Promise<unknown>} collecting */
  async gc (collecting) {
    const tags = [...this.#tags.values()]
    const mayBeTagged = new Set(tags.flatMap(lens => [...lens]))
    const isTagged = new Set(tags.flatMap(lens => lens.size === 1 ? [...lens] : []))
    const lens = [...this.#blobs.keys()]
    this.#mayLose(lens.filter(len => !isTagged.has(len)))
    const result = await collecting
    for (const len of lens) if (!mayBeTagged.has(len)) this.#forget(len)
    return result
  }

  /**
   * @param {string} name @param {number | undefined} len  undefined: the tag is deleted
   * @param {Promise<unknown>} tagging
   */
  async tag (name, len, tagging) {
    this.#mayName(name, len)
    const result = await tagging
    this.#tags.set(name, new Set([len]))
    return result
  }

  /** @param {string} from @param {string} to @param {Promise<unknown>} renaming */
  async rename (from, to, renaming) {
    const lens = this.#tags.get(from)
    for (const len of lens) this.#mayName(to, len)
    this.#mayName(from, undefined)
    const result = await renaming
    this.#tags.set(to, lens)
    this.#tags.set(from, new Set([undefined]))
    return result
  }

  /** @param {number} len */
  damage (len) { this.#blob(len).isDamaged = true }

  get lens () { return [...this.#blobs.keys()] }

  /**
   * @param {import('../../../store/index.js').BlobStore} store @param {string} when
   * @returns {Promise<string[]>} the faults
   */
  async check (store, when) {
    const wrong = []
    const fault = (...words) => { wrong.push(`${when}: ${words.join(' ')}`) }
    const tags = new Map((await listed(store.tags.list())).map(({ name, cid }) => [name, cid.multihash.digest]))
    for (const [name, lens] of this.#tags) {
      const root = tags.get(name)
      const isNamed = len => len === undefined ? root === undefined : root !== undefined && same(blobOf(len).root, root)
      if (![...lens].some(isNamed)) fault(`lost: tag '${name}' should name ${[...lens]}`)
      tags.delete(name)
    }
    for (const name of tags.keys()) fault(`a tag '${name}' that was never set`)
    for (const [len, { ranges, rangesIfThere, isGone, isDamaged }] of this.#blobs) {
      const { bytes, root } = blobOf(len)
      const stat = await store.stat(root).catch(error => {
        if (error.code !== 'STORE_NOT_FOUND' && !isDamaged) fault(`stat of ${len}: ${error.code} ${error.message}`)
      })
      if (stat !== undefined && isGone && !isDamaged) fault(`back: ${len} had been deleted`)
      const present = stat?.present ?? ChunkRanges.none
      const due = isDamaged ? [] : stat === undefined ? ranges : [...ranges, ...rangesIfThere]
      for (const [start, end] of due) {
        if (!covers(present, start, end)) fault(`lost: ${start} to ${end} of ${len}, here is ${present.boundaries}`)
      }
      if (stat?.complete && !isDamaged && stat.size !== len) fault(`${len} has the size ${stat.size}`)
      for (const { start, end } of present.toBytes(len)) {
        const read = await store.bytes(root, { start, end }).catch(error => {
          if (isDamaged && ['STORE_CORRUPT', 'STORE_MISSING'].includes(error.code)) return
          fault(`corrupt: bytes ${start} to ${end} of ${len}: ${error.code} ${error.message}`)
        })
        if (read && !same(read, bytes.subarray(start, end))) fault(`bytes ${start} to ${end} of ${len} are wrong`)
      }
    }
    return wrong
  }

  /** @param {number} len */
  #forget (len) { Object.assign(this.#blob(len), { isGone: true, rangesIfThere: [] }) }

  /** @param {number[]} lens */
  #mayLose (lens) {
    for (const len of lens) {
      const blob = this.#blob(len)
      blob.rangesIfThere = [...blob.rangesIfThere, ...blob.ranges]
      blob.ranges = []
    }
  }

  /** @param {number} len */
  #blob (len) {
    if (!this.#blobs.has(len)) this.#blobs.set(len, new Blob())
    return this.#blobs.get(len)
  }

  /** @param {string} name @param {number | undefined} len */
  #mayName (name, len) {
    if (!this.#tags.has(name)) this.#tags.set(name, new Set([undefined]))
    this.#tags.get(name).add(len)
  }
}
