// A set of hashes that saves memory: it stores 8 bytes of each hash. As strings, a million hashes would take 80 MB.
//
// Two hashes that begin with the same 8 bytes count as the same. In a million random hashes, the probability of such a
// pair is 3 in 10^8. Callers must tolerate this. Garbage collection then keeps a blob that it could have deleted.

/** Slots of an empty set. The number of slots is always a power of two. */
const FIRST_SLOTS = 1024
/** 32-bit words in a slot. */
const WORDS = 2

export class HashSet {
  #words = new Uint32Array(WORDS * FIRST_SLOTS)
  #size = 0

  /** Number of hashes. */
  get size () { return this.#size }

  /** @param {Uint8Array} hash */
  add (hash) {
    const view = new DataView(hash.buffer, hash.byteOffset)
    this.#add(view.getUint32(0), view.getUint32(4))
    if (2 * WORDS * this.#size > this.#words.length) this.#grow()
  }

  /** @param {string} name  of a hash: one character for each byte */
  has (name) {
    const at = this.#find(wordAt(name, 0), wordAt(name, 4))
    return this.#words[at + 1] !== 0
  }

  /** @param {number} first @param {number} second */
  #add (first, second) {
    const at = this.#find(first, second)
    if (this.#words[at + 1] !== 0) return
    this.#words[at] = first
    this.#words[at + 1] = second || 1
    this.#size++
  }

  /** Returns the index of a hash's slot, or of the empty slot for it. @param {number} first @param {number} second */
  #find (first, second) {
    const mask = this.#words.length - 1
    second ||= 1 // because zero marks an empty slot
    let at = WORDS * second & mask
    for (;; at = at + WORDS & mask) {
      const [a, b] = [this.#words[at], this.#words[at + 1]]
      if ((a === first && b === second) || b === 0) return at
    }
  }

  #grow () {
    const before = this.#words
    this.#words = new Uint32Array(2 * before.length)
    this.#size = 0
    for (let at = 0; at < before.length; at += WORDS) if (before[at + 1] !== 0) this.#add(before[at], before[at + 1])
  }
}

/** @param {string} name @param {number} at */
const wordAt = (name, at) =>
  (name.charCodeAt(at) << 24 | name.charCodeAt(at + 1) << 16 |
    name.charCodeAt(at + 2) << 8 | name.charCodeAt(at + 3)) >>> 0
