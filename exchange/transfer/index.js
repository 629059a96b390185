// The entry point `baobox/transfer`: copies blobs from one store to another, through an archive, or to a server.

export { copy } from './copy.js'
export { exportCar } from './export-car.js'
export { importCar } from './import-car.js'
export { push } from './push.js'

// The types of public signatures.

/** @typedef {import('./copy.js').CopyOptions} CopyOptions */
/** @typedef {import('./copy.js').CopyResult} CopyResult */
/** @typedef {import('./export-car.js').ExportOptions} ExportOptions */
/** @typedef {import('./import-car.js').ImportOptions} ImportOptions */
/** @typedef {import('./import-car.js').ImportResult} ImportResult */
/** @typedef {import('./import-car.js').ImportRules} ImportRules */
/** @typedef {import('./push.js').PushOptions} PushOptions */
/** @typedef {import('./push.js').PushParts} PushParts */
/** @typedef {import('./push.js').PushResult} PushResult */
/** @typedef {import('./chosen-blobs.js').SelectionOptions} SelectionOptions */
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
/** @typedef {import('../../lib/hash/cid.js').BlobName} BlobName */
/** @typedef {import('../blockstore/blockstore.js').BlockstoreOptions} BlockstoreOptions */
