// The entry point `baobox/transfer`: blobs move from one store to another, or through an archive.

export { copy } from './copy.js'
export { exportCar } from './export.js'
export { importCar } from './import.js'

// The types of public signatures.

/** @typedef {import('./copy.js').CopyOptions} CopyOptions */
/** @typedef {import('./copy.js').CopyResult} CopyResult */
/** @typedef {import('./export.js').ExportFormat} ExportFormat */
/** @typedef {import('./export.js').ExportOptions} ExportOptions */
/** @typedef {import('./import.js').ImportOptions} ImportOptions */
/** @typedef {import('./import.js').ImportResult} ImportResult */
/** @typedef {import('./import.js').ImportRules} ImportRules */
/** @typedef {import('./selection.js').SelectionOptions} SelectionOptions */
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
