// What `import 'baobox'` gives: BLAKE3, its tree, and its names.

export { BLOCK_LEN, CHUNK_LEN, DEFAULT_GROUP_LOG, HASH_LEN, KEY_LEN, MAX_GROUP_LOG, PAIR_LEN } from './constants.js'
export { BaoError } from './errors.js'
export { Hasher, deriveKey, hash, hashInto, keyedHash } from './hasher.js'
export { OutputReader } from './output.js'
export { hashStream } from './stream.js'
export { closeWorkers } from './parallel/pool.js'
export { kernelName, warmup } from './kernel/index.js'
export { chunkCv, parentCv, rootHash, subtreeCv } from './subtree.js'
export { chunkCount, groupCount, leftLen, levelOf, maxSubtreeLen, outboardLen } from './tree.js'
export { ENTER, LEAF, LEAVE, Walk, walk } from './walk.js'
export { ChunkRanges } from './ranges.js'
export { HASHSEQ, RAW, blake3, fromCid, parseRoot, toCid } from './cid.js'

// The types that signatures speak of.

/** @typedef {import('./errors.js').BaoErrorCode} BaoErrorCode */
/** @typedef {import('./ranges.js').RangesLike} RangesLike */
/** @typedef {import('./types.js').ModeOptions} ModeOptions */
/** @typedef {import('./types.js').ProgressEvent} ProgressEvent */
/** @typedef {import('./types.js').ProgressOptions} ProgressOptions */
/** @typedef {import('./types.js').RandomAccess} RandomAccess */
/** @typedef {import('./types.js').Source} Source */
/** @typedef {import('./types.js').ThreadOptions} ThreadOptions */
/** @typedef {import('./types.js').WalkStep} WalkStep */
