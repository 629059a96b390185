// Protects blobs from garbage collection while a call reads or writes them, or a temporary tag names them.

import { describe } from '../../lib/core/bytes.js'
import { nameOf, rootOf } from '../../lib/hash/roots.js'
import { target } from '../catalog/names/tag-target.js'

/** @import { BlobName } from '../blob-store.js' */
/** @import { Change } from '../catalog/catalog.js' */
/** @import { Marks } from './collector.js' */
/** @import { TagFormat } from '../storage/format/tags.js' */

export class Protection {
  /** How many calls hold each blob, by the blobs' names in memory. */
  #uses = /** @type {Map<string, number>} */ (new Map())
  /** How many temporary tags name each blob, by format. */
  #tags = {
    raw: /** @type {Map<string, number>} */ (new Map()),
    hashseq: /** @type {Map<string, number>} */ (new Map())
  }

  #marks = /** @type {Set<Marks>} */ (new Set())

  /** Holds a blob for a call. @param {Uint8Array} root @returns {() => void} a function that lets the blob go */
  use (root) { return this.useAll([nameOf(root)]) }

  /**
   * Holds several blobs.
   *
   * @param {string[]} names  the blobs' names in memory @returns {() => void} a function that lets them go
   */
  useAll (names) {
    for (const name of names) count(this.#uses, name)
    return once(() => { for (const name of names) uncount(this.#uses, name) })
  }

  /** @param {Uint8Array} root @param {TagFormat} format @returns {() => void} a function that ends the protection */
  tag (root, format) {
    const name = this.keep(root, format)
    return once(() => this.letGo([name], format))
  }

  /**
   * Does what `tag` does, for callers with many blobs, because a name takes less memory than a function.
   *
   * @param {Uint8Array} root @param {TagFormat} format @returns {string} the name of the blob, for `letGo`
   */
  keep (root, format) {
    for (const marks of this.#marks) marks.keep(root, format)
    const name = nameOf(root)
    count(this.#tags[format], name)
    return name
  }

  /**
   * Ends the protection that `keep` began.
   *
   * @param {string[]} names  each name as often as it was kept
   * @param {TagFormat} format
   */
  letGo (names, format) { for (const name of names) uncount(this.#tags[format], name) }

  /** @param {unknown} tag @throws {TypeError} unless it is an unreleased temporary tag of this store */
  assertMayTag (tag) {
    if (!(tag instanceof TempTag)) throw new TypeError(`"tag" expected a temporary tag, got ${describe(tag)}`)
    tag.assertOf(this)
  }

  /** Returns true if a temporary tag names a blob. @param {string} name  the blob's name in memory */
  isTagged (name) { return this.#tags.raw.has(name) || this.#tags.hashseq.has(name) }

  /** Returns true if a call holds a blob, or a temporary tag names it. @param {string} name  its name in memory */
  isHeld (name) { return this.#uses.has(name) || this.isTagged(name) }

  /** True if there are temporary tags. */
  get hasTags () { return this.#tags.raw.size > 0 || this.#tags.hashseq.size > 0 }

  /** The sequences of hashes that temporary tags name. */
  get sequences () { return [...this.#tags.hashseq.keys()].map(rootOf) }

  /**
   * Adds each blob that becomes protected from now on to marks, so that a sweep with these marks does not delete it.
   *
   * @param {Marks} marks @returns {() => void} a function that stops this
   */
  watch (marks) {
    this.#marks.add(marks)
    return () => { this.#marks.delete(marks) }
  }

  /** @param {Change} change */
  recordChanged ({ root, before, after }) {
    // A blob that had all bytes under this id has only changed its names, or a repair drops some of the bytes.
    const hadAllBytes = before?.complete && before.id === after?.id
    if (after !== undefined && !hadAllBytes) this.#arrived(root)
  }

  /** @param {Uint8Array} root */
  wasPutAgain (root) { this.#arrived(root) }

  /** Tells the marks that a blob was put, or that more of it was received. @param {Uint8Array} root */
  #arrived (root) { for (const marks of this.#marks) marks.arrived(root) }
}

/** Protects blobs until it is released or the process ends. */
export class TempTag {
  #protection
  /** The names of its blobs, by format. */
  #names = { raw: /** @type {string[]} */ ([]), hashseq: /** @type {string[]} */ ([]) }
  #isReleased = false

  /** @param {Protection} protection */
  constructor (protection) {
    this.#protection = protection
  }

  /**
   * Protects one more blob, even if the store does not have it yet.
   *
   * @param {BlobName} cid
   * @param {{ format?: TagFormat }} [options]  as for `tags.set`
   */
  add (cid, options) {
    const { root, format } = target(cid, options)
    this.assertOf(this.#protection)
    this.#names[format].push(this.#protection.keep(root, format))
  }

  /** Throws unless this is an unreleased tag of the given store. @param {Protection} protection */
  assertOf (protection) {
    if (this.#protection !== protection) {
      throw new TypeError('"tag" expected a temporary tag of this store, got one of another')
    }
    if (this.#isReleased) throw new TypeError('"tag" expected a temporary tag, got one that was released')
  }

  /** Ends the protection. Later calls do nothing. */
  release () {
    this.#isReleased = true
    for (const format of /** @type {const} */ (['raw', 'hashseq'])) {
      this.#protection.letGo(this.#names[format].splice(0), format)
    }
  }

  [Symbol.dispose] () { this.release() }
  async [Symbol.asyncDispose] () { this.release() }
}

/** @param {Map<string, number>} counts @param {string} name */
const count = (counts, name) => counts.set(name, (counts.get(name) ?? 0) + 1)

/** @param {Map<string, number>} counts @param {string} name  that was counted */
function uncount (counts, name) {
  const left = /** @type {number} */ (counts.get(name)) - 1
  if (left > 0) counts.set(name, left)
  else counts.delete(name)
}

/** @param {() => void} end @returns {() => void} calls `end` the first time, and does nothing later */
function once (end) {
  let isEnded = false
  return () => {
    if (!isEnded) end()
    isEnded = true
  }
}
