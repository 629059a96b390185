// The entry point `baobox/blockstore`: a store as a blockstore for Helia.

export { asBlockstore } from './blockstore.js'

// The types of public signatures.

/** @typedef {import('./blockstore.js').AbortOptions} AbortOptions */
/** @typedef {import('./block-checker.js').BlockBytes} BlockBytes */
/** @typedef {ReturnType<typeof import('./blockstore.js').asBlockstore>} Blockstore */
/** @typedef {import('./blockstore.js').BlockstoreOptions} BlockstoreOptions */
/** @typedef {import('./blockstore.js').InputPair} InputPair */
/** @typedef {import('./blockstore.js').Pair} Pair */
/** @typedef {import('../../lib/hash/cid.js').NamedBlob} NamedBlob */
/** @typedef {import('../../lib/outboard/pairs.js').Order} Order */
/** @typedef {import('../../lib/core/types.js').PairReader} PairReader */
/** @typedef {import('../../lib/core/errors.js').BaoError} BaoError */
/** @typedef {import('../../lib/core/errors.js').BaoErrorCode} BaoErrorCode */
/** @typedef {import('../../lib/tree/ranges.js').ChunkRanges} ChunkRanges */
/** @typedef {import('../../lib/tree/ranges.js').ByteRange} ByteRange */
/** @typedef {import('../../lib/tree/ranges.js').RangeLike} RangeLike */
/** @typedef {import('../../lib/tree/ranges.js').RangesLike} RangesLike */
/** @typedef {import('../../lib/core/types.js').ProgressEvent} ProgressEvent */
/** @typedef {import('../../lib/core/types.js').ProgressOptions} ProgressOptions */
/** @typedef {import('../../lib/core/types.js').RandomAccess} RandomAccess */
/** @typedef {import('../../lib/core/types.js').SliceOutboard} SliceOutboard */
/** @typedef {import('../../lib/core/types.js').Source} Source */
/** @typedef {import('../../lib/core/types.js').Step} Step */
/** @typedef {import('../../store/interface.js').Store} Store */
