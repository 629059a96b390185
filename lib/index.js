// The entry point `baobox`: BLAKE3, its tree, and CIDs.

export {
  BLOCK_LEN, CHUNK_LEN, DEFAULT_GROUP_LOG, HASH_LEN, KEY_LEN, MAX_GROUP_LOG, PAIR_LEN
} from './core/constants.js'
export { BaoError } from './core/errors.js'
export { Hasher, deriveKey, hash, hashInto, keyedHash } from './hash/hasher.js'
export { OutputReader } from './hash/output.js'
export { hashStream } from './parallel/hash-source.js'
export { closeWorkers } from './parallel/pool.js'
export { kernelName, warmup } from './engine/kernel/index.js'
export { chunkCv, parentCv, rootHash, subtreeCv } from './hash/subtree.js'
export { chunkCount, groupCount, leftLen, levelOf, maxSubtreeLen, outboardLen } from './tree/geometry.js'
export { ENTER, LEAF, LEAVE, Walk, walk } from './tree/walk.js'
export { ChunkRanges } from './tree/ranges.js'
export { HASHSEQ, RAW, blake3, fromCid, parseRoot, toCid } from './hash/cid.js'

// Types in the signatures above.

/** @typedef {import('./core/errors.js').BaoErrorCode} BaoErrorCode */
/** @typedef {import('./tree/ranges.js').ByteRange} ByteRange */
/** @typedef {import('./tree/ranges.js').RangeLike} RangeLike */
/** @typedef {import('./tree/ranges.js').RangesLike} RangesLike */
/** @typedef {import('./core/types.js').ModeOptions} ModeOptions */
/** @typedef {import('./core/types.js').ProgressEvent} ProgressEvent */
/** @typedef {import('./core/types.js').ProgressOptions} ProgressOptions */
/** @typedef {import('./core/types.js').RandomAccess} RandomAccess */
/** @typedef {import('./core/types.js').Source} Source */
/** @typedef {import('./core/types.js').ThreadOptions} ThreadOptions */
/** @typedef {import('./core/types.js').WalkStep} WalkStep */
