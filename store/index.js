// The entry point `baobox/store`: the blob store.

export { BlobStore } from './blob-store.js'

// The types of public signatures.

/** @typedef {import('./interface.js').Store} Store */
/** @typedef {import('./interface.js').FsckOptions} FsckOptions */
/** @typedef {import('./blob-store.js').BlobName} BlobName */
/** @typedef {import('./catalog/calls/lookups.js').BlobDetails} BlobDetails */
/** @typedef {import('./catalog/calls/lookups.js').BlobStat} BlobStat */
/** @typedef {import('./catalog/calls/lookups.js').ListedBlob} ListedBlob */
/** @typedef {import('./catalog/calls/census.js').StoreInfo} StoreInfo */
/** @typedef {import('./catalog/calls/list.js').ListOptions} ListOptions */
/** @typedef {import('./catalog/calls/list.js').ListOrder} ListOrder */
/** @typedef {import('./write/put.js').PutOptions} PutOptions */
/** @typedef {import('./write/compose/compose.js').BlobPart} BlobPart */
/** @typedef {import('./write/compose/compose.js').ComposeOptions} ComposeOptions */
/** @typedef {import('./write/compose/compose.js').ComposeOwnOptions} ComposeOwnOptions */
/** @typedef {import('./write/compose/compose.js').NewPart} NewPart */
/** @typedef {import('./write/compose/compose.js').StoredPart} StoredPart */
/** @typedef {import('./catalog/calls/deleter.js').Deleted} Deleted */
/** @typedef {import('./read/reader.js').ReadOptions} ReadOptions */
/** @typedef {import('./read/export-file.js').ExportFileOptions} ExportFileOptions */
/** @typedef {import('./read/slice-reader.js').OutboardOptions} OutboardOptions */
/** @typedef {import('./read/slice-reader.js').OutboardRange} OutboardRange */
/** @typedef {import('./read/slice-reader.js').SliceOptions} SliceOptions */
/** @typedef {import('./open.js').StoreOptions} StoreOptions */
/** @typedef {import('./storage/level/levels.js').AnyLevel} AnyLevel */
/** @typedef {AnyLevel} Database */
/** @typedef {import('./storage/level/levels.js').DatabasePair} DatabasePair */
/** @typedef {import('./read/get-many.js').GetManyOptions} GetManyOptions */
/** @typedef {import('./read/get-many.js').GetResult} GetResult */
/** @typedef {import('./write/import/import-file.js').ImportFileOptions} ImportFileOptions */
/** @typedef {import('./write/put-many.js').NamedSource} NamedSource */
/** @typedef {import('./write/put-many.js').PutManyOptions} PutManyOptions */
/** @typedef {import('./write/put-many.js').PutResult} PutResult */
/** @typedef {import('./catalog/events/observers.js').BlobState} BlobState */
/** @typedef {import('./catalog/events/watch.js').StoreEvent} StoreEvent */
/** @typedef {import('./catalog/events/watch.js').StoreEventType} StoreEventType */
/** @typedef {import('./gc/collector.js').GcOptions} GcOptions */
/** @typedef {import('./check/check-blobs.js').DamagedBlob} DamagedBlob */
/** @typedef {import('./read/supplies.js').Supply} Supply */
/** @typedef {import('./read/supplies.js').SupplyOptions} SupplyOptions */
/** @typedef {import('./check/fsck.js').FsckReport} FsckReport */
/** @typedef {import('./check/check-tags.js').DamagedTag} DamagedTag */
/** @typedef {import('./write/receive/receive.js').ReceiveOptions} ReceiveOptions */
/** @typedef {import('./catalog/names/aliases.js').Aliases} Aliases */
/** @typedef {import('./catalog/names/tags.js').NewTag} NewTag */
/** @typedef {import('./catalog/names/tags.js').TagInfo} TagInfo */
/** @typedef {import('./catalog/names/tag-target.js').TagOptions} TagOptions */
/** @typedef {import('./catalog/names/tags.js').Tags} Tags */
/** @typedef {import('./storage/format/tags.js').TagFormat} TagFormat */
/** @typedef {import('./gc/protection.js').TempTag} TempTag */
/** @typedef {import('../encoder/outboard.js').Outboard} Outboard */
/** @typedef {import('../encoder/outboard.js').OutboardParts} OutboardParts */
/** @typedef {import('../lib/hash/cid.js').NamedBlob} NamedBlob */
/** @typedef {import('../lib/outboard/pairs.js').Order} Order */
/** @typedef {import('../lib/core/types.js').PairReader} PairReader */
/** @typedef {import('../lib/core/errors.js').BaoError} BaoError */
/** @typedef {import('../lib/core/errors.js').BaoErrorCode} BaoErrorCode */
/** @typedef {import('../lib/tree/ranges.js').ChunkRanges} ChunkRanges */
/** @typedef {import('../lib/tree/ranges.js').ByteRange} ByteRange */
/** @typedef {import('../lib/tree/ranges.js').RangeLike} RangeLike */
/** @typedef {import('../lib/tree/ranges.js').RangesLike} RangesLike */
/** @typedef {import('../lib/core/types.js').ProgressEvent} ProgressEvent */
/** @typedef {import('../lib/core/types.js').ProgressOptions} ProgressOptions */
/** @typedef {import('../lib/core/types.js').RandomAccess} RandomAccess */
/** @typedef {import('../lib/core/types.js').SliceOutboard} SliceOutboard */
/** @typedef {import('../lib/core/types.js').Source} Source */
/** @typedef {import('../lib/core/types.js').Step} Step */
/** @template T @typedef {import('../lib/async/in-order.js').Many<T>} Many */
/** @typedef {import('./write/import/import-file.js').ImportFileOwnOptions} ImportFileOwnOptions */
/** @typedef {import('./write/receive/receive.js').ReceiveOwnOptions} ReceiveOwnOptions */
/** @typedef {import('./interface.js').FsckOwnOptions} FsckOwnOptions */
/** @typedef {import('./interface.js').StoreCalls} StoreCalls */
/** @typedef {import('./interface.js').WholeOutboard} WholeOutboard */
/** @typedef {import('./interface.js').OutboardPart} OutboardPart */
