// The numbers of BLAKE3. Source: the BLAKE3 paper, sections 2.1 to 2.3 and tables 1 to 3.

/** The length of a chunk, the leaf of the tree, in bytes. */
export const CHUNK_LEN = 1024
/** The length of a block, the input of one compression, in bytes. */
export const BLOCK_LEN = 64
/** The length of a hash, and of a chaining value, in bytes. */
export const HASH_LEN = 32
/** The length of a key in bytes. */
export const KEY_LEN = 32
/** The length of a pair, the chaining values of a parent's left and right child, in bytes. */
export const PAIR_LEN = 64
/** The default group log: groups of 2^4 chunks (16 KiB), as in iroh. */
export const DEFAULT_GROUP_LOG = 4
/** The maximum group log: groups of 2^16 chunks (64 MiB). */
export const MAX_GROUP_LOG = 16
/** The maximum number of parents between the root and a chunk (2^54 chunks). */
export const MAX_DEPTH = 54

export const CHUNK_START = 1
export const CHUNK_END = 2
export const PARENT = 4
export const ROOT = 8
export const KEYED_HASH = 16
export const DERIVE_KEY_CONTEXT = 32
export const DERIVE_KEY_MATERIAL = 64

export const IV = Uint32Array.of(
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19
)

/** Message word `i` of a round is word `PERMUTATION[i]` of the round before. */
export const PERMUTATION = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]

/** The order of the message words in each of the seven rounds. */
export const SCHEDULE = Array.from({ length: 7 }).reduce(
  (/** @type {number[][]} */ rows) => [...rows, rows.length === 0
    ? PERMUTATION.map((_, i) => i)
    : PERMUTATION.map(from => rows[rows.length - 1][from])],
  []
)

/** The state words that each of the eight mixings of a round works on: four columns, then four diagonals. */
export const MIXINGS = [
  [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
  [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]
]
