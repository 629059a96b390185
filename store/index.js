// What `import 'baobox/store'` gives.

export { BlobStore } from './blobs.js'
export { asBlockstore } from './blockstore.js'

// The types that signatures speak of.

/** @typedef {import('./blobs.js').BlobName} BlobName */
/** @typedef {import('./blobs.js').BlobStat} BlobStat */
/** @typedef {import('./blobs.js').GetOptions} GetOptions */
/** @typedef {import('./blobs.js').PutOptions} PutOptions */
/** @typedef {import('./blobs.js').StoreOptions} StoreOptions */
/** @typedef {import('./levels.js').AnyLevel} AnyLevel */
/** @typedef {AnyLevel} Database */
/** @typedef {import('./levels.js').DatabasePair} DatabasePair */
/** @typedef {import('./many.js').GetResult} GetResult */
/** @typedef {import('./many.js').PutResult} PutResult */
/** @typedef {import('./observers.js').BlobState} BlobState */
/** @typedef {import('./collector.js').GcOptions} GcOptions */
/** @typedef {import('./fsck.js').DamagedBlob} DamagedBlob */
/** @typedef {import('./fsck.js').FsckReport} FsckReport */
/** @typedef {import('./tag-check.js').DamagedTag} DamagedTag */
/** @typedef {import('./tags.js').TagInfo} TagInfo */
/** @typedef {import('./tags.js').Tags} Tags */
/** @typedef {import('./keys.js').TagFormat} TagFormat */
/** @typedef {import('./protection.js').TempTag} TempTag */
/** @typedef {import('./blockstore.js').AbortOptions} AbortOptions */
/** @typedef {import('./blockstore.js').BlockBytes} BlockBytes */
/** @typedef {ReturnType<typeof import('./blockstore.js').asBlockstore>} Blockstore */
/** @typedef {import('./blockstore.js').BlockstoreOptions} BlockstoreOptions */
/** @typedef {import('./blockstore.js').InputPair} InputPair */
/** @typedef {import('./blockstore.js').Pair} Pair */
/** @typedef {import('../encoder/outboard.js').Outboard} Outboard */
/** @typedef {import('../lib/pairs.js').Order} Order */
/** @typedef {import('../lib/errors.js').BaoError} BaoError */
/** @typedef {import('../lib/errors.js').BaoErrorCode} BaoErrorCode */
/** @typedef {import('../lib/ranges.js').ChunkRanges} ChunkRanges */
/** @typedef {import('../lib/ranges.js').RangesLike} RangesLike */
/** @typedef {import('../lib/types.js').ProgressEvent} ProgressEvent */
/** @typedef {import('../lib/types.js').ProgressOptions} ProgressOptions */
/** @typedef {import('../lib/types.js').RandomAccess} RandomAccess */
/** @typedef {import('../lib/types.js').Source} Source */
/** @typedef {import('../lib/types.js').Step} Step */
