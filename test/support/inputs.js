// The three input generators of the vectors, and test keys. See the vectors' `about.input_generators`.

/** The key and context that the official BLAKE3 vectors use. */
export const KEY = new TextEncoder().encode('whats the Elvish word for friend')
export const CONTEXT = 'BLAKE3 2019-12-27 16:29:52 test vectors context'

const GENERATORS = {
  /** Byte i is i mod 251. The period is odd, so neighbouring chunks and blocks differ. */
  b3 (out) {
    for (let i = 0; i < out.length; i++) out[i] = i % 251
  },

  /** 32-bit little-endian numbers, counted from 1. */
  bao (out) {
    for (let i = 0; i < out.length; i++) out[i] = ((i >>> 2) + 1) >>> (8 * (i & 3))
  },

  /** Xorshift with 32 bits of state: bytes without structure. */
  xs (out, seed) {
    let s = seed >>> 0 || 0x9e3779b9
    for (let i = 0; i < out.length; i++) {
      s ^= s << 13
      s ^= s >>> 17
      s ^= s << 5
      out[i] = s >>> 24
    }
  }
}

const made = new Map()

/**
 * Returns the bytes that a vector names. One copy for each name is kept for the whole run, so callers must not change
 * it.
 *
 * @param {{ gen: 'b3' | 'bao' | 'xs', len: number, seed?: number }} name
 * @returns {Uint8Array}
 */
export function input ({ gen, len, seed = 0 }) {
  const key = `${gen} ${seed} ${len}`
  if (!made.has(key)) {
    const bytes = new Uint8Array(len)
    GENERATORS[gen](bytes, seed)
    made.set(key, bytes)
  }
  return made.get(key)
}

/** The longest noise that was made of each seed; shorter noise is its beginning. The oldest seeds come first. */
const kept = /** @type {Map<number, Uint8Array>} */ (new Map())
const MAX_KEPT = 64 << 20
/** Shorter noise is made as quickly as it is found. */
const MIN_KEPT = 1 << 14
let keptLen = 0

/** Returns `len` bytes without structure, the same ones for the same `seed`. They are the caller's own. */
export function noise (len, seed = 1) {
  const found = kept.get(seed)
  if (found !== undefined && found.length >= len) return found.slice(0, len)
  const bytes = wordsOf(len, seed)
  if (len < MIN_KEPT) return bytes
  keep(seed, bytes)
  return bytes.slice()
}

/** The generator `xs`, of which each number gives four bytes: a fourth of the time. */
function wordsOf (len, seed) {
  const words = new Uint32Array(Math.ceil(len / 4))
  let s = seed >>> 0 || 0x9e3779b9
  for (let i = 0; i < words.length; i++) {
    s ^= s << 13
    s ^= s >>> 17
    s ^= s << 5
    words[i] = s
  }
  return new Uint8Array(words.buffer, 0, len)
}

function keep (seed, bytes) {
  forget(seed)
  kept.set(seed, bytes)
  keptLen += bytes.length
  for (const oldest of kept.keys()) {
    if (keptLen <= MAX_KEPT) break
    forget(oldest)
  }
}

function forget (seed) {
  keptLen -= kept.get(seed)?.length ?? 0
  kept.delete(seed)
}
