// BLAKE3, slow and recursive. It shares no code with lib/, and is written so that a reader can compare it with the
// paper. Tests take it as the reference. Source: BLAKE3 paper 2.1 to 2.6.

const CHUNK_START = 1
const CHUNK_END = 2
const PARENT = 4
const ROOT = 8
const KEYED_HASH = 16
const DERIVE_KEY_CONTEXT = 32
const DERIVE_KEY_MATERIAL = 64

const IV = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19]
const PERMUTATION = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]
/** The order of the words of the message in each of the seven rounds. */
const ORDERS = [PERMUTATION.map((_, i) => i)]
while (ORDERS.length < 7) ORDERS.push(PERMUTATION.map(from => ORDERS.at(-1)[from]))

/** @typedef {{ key: ArrayLike<number>, flag: number }} Mode  the inputs that all compressions of a hash share */
/** @typedef {{ cv: ArrayLike<number>, block: Uint8Array, counter: number, flags: number }} Last
 *  The inputs of a subtree's last compression. Only the node above knows whether it is the root. */

/** @type {Mode} */
export const HASH = { key: IV, flag: 0 }

/** @param {Uint8Array} key  32 bytes @returns {Mode} */
export const keyed = key => ({ key: words(key), flag: KEYED_HASH })

/** @param {string} context @returns {Mode} */
export function derived (context) {
  const asContext = { key: IV, flag: DERIVE_KEY_CONTEXT }
  return { key: words(rootBytes(subtree(new TextEncoder().encode(context), 0, asContext))), flag: DERIVE_KEY_MATERIAL }
}

/** Returns the mode for options of the library. @returns {Mode} */
export const modeOf = ({ key, context } = {}) => key ? keyed(key) : context === undefined ? HASH : derived(context)

export const hash = (bytes, length = 32, mode = HASH, position = 0) =>
  rootBytes(subtree(bytes, 0, mode), length, position)

/** Returns the chaining value of a subtree at `firstChunk` that is not the root. */
export const chainingValue = (bytes, firstChunk, mode = HASH) => cvBytes(subtree(bytes, firstChunk, mode))

/** Returns the length of the left side: the largest 1024 * 2^k below `len`. */
export function leftLen (len) {
  let left = 1024
  while (left * 2 < len) left *= 2
  return left
}

/** @returns {Last} */
export function subtree (bytes, firstChunk, mode) {
  if (bytes.length <= 1024) return chunk(bytes, firstChunk, mode)
  const split = leftLen(bytes.length)
  const left = subtree(bytes.subarray(0, split), firstChunk, mode)
  const right = subtree(bytes.subarray(split), firstChunk + split / 1024, mode)
  return parent(cvBytes(left), cvBytes(right), mode)
}

/** @returns {Last} */
function chunk (bytes, index, mode) {
  let cv = mode.key
  let start = CHUNK_START
  while (bytes.length > 64) {
    cv = compress(cv, bytes.subarray(0, 64), index, mode.flag | start).subarray(0, 8)
    bytes = bytes.subarray(64)
    start = 0
  }
  return { cv, block: bytes, counter: index, flags: mode.flag | start | CHUNK_END }
}

/** @returns {Last} */
export function parent (left, right, mode) {
  const pair = new Uint8Array(64)
  pair.set(left)
  pair.set(right, 32)
  return { cv: mode.key, block: pair, counter: 0, flags: mode.flag | PARENT }
}

/** @param {Last} last */
export const cvBytes = last => bytesOf(compress(last.cv, last.block, last.counter, last.flags).subarray(0, 8))

/** Gives output from `position` on. @param {Last} last @param {number} length @param {number | bigint} position */
export function rootBytes (last, length = 32, position = 0) {
  const out = new Uint8Array(length)
  for (let filled = 0; filled < length;) {
    const at = BigInt(position) + BigInt(filled)
    const block = bytesOf(compress(last.cv, last.block, at / 64n, last.flags | ROOT)).subarray(Number(at % 64n))
    const part = block.subarray(0, length - filled)
    out.set(part, filled)
    filled += part.length
  }
  return out
}

/** @param {number | bigint} counter  of 64 bits @returns {Uint32Array}  16 words */
function compress (cv, block, counter, flags) {
  const state = new Uint32Array(16)
  state.set(cv)
  state.set(IV.slice(0, 4), 8)
  state[12] = typeof counter === 'bigint' ? Number(counter & 0xffffffffn) : counter % 2 ** 32
  state[13] = typeof counter === 'bigint' ? Number(counter >> 32n) : Math.floor(counter / 2 ** 32)
  state[14] = block.length
  state[15] = flags

  const message = words(padded(block))
  for (const order of ORDERS) {
    const word = i => message[order[i]]
    // columns
    mix(state, 0, 4, 8, 12, word(0), word(1))
    mix(state, 1, 5, 9, 13, word(2), word(3))
    mix(state, 2, 6, 10, 14, word(4), word(5))
    mix(state, 3, 7, 11, 15, word(6), word(7))
    // diagonals
    mix(state, 0, 5, 10, 15, word(8), word(9))
    mix(state, 1, 6, 11, 12, word(10), word(11))
    mix(state, 2, 7, 8, 13, word(12), word(13))
    mix(state, 3, 4, 9, 14, word(14), word(15))
  }

  for (let i = 0; i < 8; i++) {
    state[i] ^= state[i + 8]
    state[i + 8] ^= cv[i]
  }
  return state
}

function mix (v, a, b, c, d, x, y) {
  v[a] = v[a] + v[b] + x
  v[d] = rotr(v[d] ^ v[a], 16)
  v[c] = v[c] + v[d]
  v[b] = rotr(v[b] ^ v[c], 12)
  v[a] = v[a] + v[b] + y
  v[d] = rotr(v[d] ^ v[a], 8)
  v[c] = v[c] + v[d]
  v[b] = rotr(v[b] ^ v[c], 7)
}

const rotr = (word, by) => (word >>> by) | (word << (32 - by))

function padded (block) {
  const out = new Uint8Array(64)
  out.set(block)
  return out
}

/** Returns the little-endian words of bytes at any offset. */
function words (bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return new Uint32Array(bytes.length / 4).map((_, i) => view.getUint32(4 * i, true))
}

function bytesOf (state) {
  const out = new Uint8Array(4 * state.length)
  const view = new DataView(out.buffer)
  state.forEach((word, i) => view.setUint32(4 * i, word, true))
  return out
}
