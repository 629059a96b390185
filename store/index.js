// The entry point `baobox/store`: the blob store, and the store as a blockstore.

export { BlobStore } from './blob-store.js'
export { healFrom } from './exchange/download/heal-from.js'
export { asBlockstore } from './exchange/blockstore/blockstore.js'

// The types of public signatures.

/** @typedef {import('./blob-store.js').BlobName} BlobName */
/** @typedef {import('./catalog/calls/stat.js').BlobStat} BlobStat */
/** @typedef {import('./catalog/calls/info.js').StoreInfo} StoreInfo */
/** @typedef {import('./catalog/calls/list.js').ListOptions} ListOptions */
/** @typedef {import('./catalog/calls/list.js').ListOrder} ListOrder */
/** @typedef {import('./read/reader.js').GetOptions} GetOptions */
/** @typedef {import('./write/put.js').PutOptions} PutOptions */
/** @typedef {import('./write/grow/splice.js').GrowOptions} GrowOptions */
/** @typedef {import('./write/grow/splice.js').GrowOwnOptions} GrowOwnOptions */
/** @typedef {import('./write/grow/splice.js').SpliceChange} SpliceChange */
/** @typedef {import('./read/reader.js').ReadOptions} ReadOptions */
/** @typedef {import('./read/slice-reader.js').SliceOptions} SliceOptions */
/** @typedef {import('./exchange/store-context.js').StoreOptions} StoreOptions */
/** @typedef {import('./storage/level/levels.js').AnyLevel} AnyLevel */
/** @typedef {AnyLevel} Database */
/** @typedef {import('./storage/level/levels.js').DatabasePair} DatabasePair */
/** @typedef {import('./exchange/download/download.js').DownloadOptions} DownloadOptions */
/** @typedef {import('./exchange/download/download.js').DownloadResult} DownloadResult */
/** @typedef {import('./exchange/download/progress.js').DownloadEvent} DownloadEvent */
/** @typedef {import('./exchange/download/progress.js').DownloadState} DownloadState */
/** @typedef {import('./exchange/download/progress.js').MembersState} MembersState */
/** @typedef {import('./exchange/download/progress.js').MemberState} MemberState */
/** @typedef {import('./exchange/download/download.js').FileDownloadOptions} FileDownloadOptions */
/** @typedef {import('./exchange/download/members/lost-members.js').MissingMember} MissingMember */
/** @typedef {import('./exchange/download/members/member-downloads.js').WholeMember} WholeMember */
/** @typedef {import('../verifier/mirrors/health.js').MirrorReport} MirrorReport */
/** @typedef {import('../verifier/mirrors/health.js').MirrorState} MirrorState */
/** @typedef {import('../verifier/mirrors/mirror.js').GiveSlice} GiveSlice */
/** @typedef {import('../verifier/mirrors/mirror.js').Mirror} Mirror */
/** @typedef {import('../verifier/mirrors/mirror.js').MirrorLike} MirrorLike */
/** @typedef {import('../verifier/mirrors/mirror.js').GiveMembers} GiveMembers */
/** @typedef {import('../verifier/mirrors/mirror.js').PlainParts} PlainParts */
/** @typedef {import('../verifier/mirrors/mirror.js').SliceGiver} SliceGiver */
/** @typedef {import('../verifier/mirrors/server/url-mirror.js').SliceRequest} SliceRequest */
/** @typedef {import('../verifier/mirrors/server/url-mirror.js').OnDuplicate} OnDuplicate */
/** @typedef {import('../verifier/mirrors/server/url-mirror.js').WholeFile} WholeFile */
/** @typedef {import('../verifier/sources/http/options.js').HttpOptions} HttpOptions */
/** @typedef {import('./read/get-many.js').GetResult} GetResult */
/** @typedef {import('./write/put-many.js').PutManyOptions} PutManyOptions */
/** @typedef {import('./write/put-many.js').PutResult} PutResult */
/** @typedef {import('./catalog/events/observers.js').BlobState} BlobState */
/** @typedef {import('./catalog/events/watch.js').StoreEvent} StoreEvent */
/** @typedef {import('./catalog/events/watch.js').StoreEventType} StoreEventType */
/** @typedef {import('./gc/collector.js').GcOptions} GcOptions */
/** @typedef {import('./exchange/transfer/copy.js').CopyOptions} CopyOptions */
/** @typedef {import('./exchange/transfer/copy.js').CopyResult} CopyResult */
/** @typedef {import('./exchange/transfer/export.js').ExportFormat} ExportFormat */
/** @typedef {import('./exchange/transfer/export.js').ExportOptions} ExportOptions */
/** @typedef {import('./exchange/transfer/import.js').ImportOptions} ImportOptions */
/** @typedef {import('./exchange/transfer/import.js').ImportResult} ImportResult */
/** @typedef {import('./exchange/transfer/import.js').ImportRules} ImportRules */
/** @typedef {import('./exchange/transfer/selection.js').SelectionOptions} SelectionOptions */
/** @typedef {import('./check/check-blobs.js').DamagedBlob} DamagedBlob */
/** @typedef {import('./check/healer.js').Heal} Heal */
/** @typedef {import('./check/fsck.js').FsckReport} FsckReport */
/** @typedef {import('./check/check-tags.js').DamagedTag} DamagedTag */
/** @typedef {import('./catalog/names/tags.js').NewTag} NewTag */
/** @typedef {import('./catalog/names/tags.js').TagInfo} TagInfo */
/** @typedef {import('./catalog/names/tag-target.js').TagOptions} TagOptions */
/** @typedef {import('./catalog/names/tags.js').Tags} Tags */
/** @typedef {import('./storage/format/tags.js').TagFormat} TagFormat */
/** @typedef {import('./gc/protection.js').TempTag} TempTag */
/** @typedef {import('./exchange/blockstore/blockstore.js').AbortOptions} AbortOptions */
/** @typedef {import('./exchange/blockstore/block-checker.js').BlockBytes} BlockBytes */
/** @typedef {ReturnType<typeof import('./exchange/blockstore/blockstore.js').asBlockstore>} Blockstore */
/** @typedef {import('./exchange/blockstore/blockstore.js').BlockstoreOptions} BlockstoreOptions */
/** @typedef {import('./exchange/blockstore/blockstore.js').InputPair} InputPair */
/** @typedef {import('./exchange/blockstore/blockstore.js').Pair} Pair */
/** @typedef {import('../encoder/outboard.js').Outboard} Outboard */
/** @typedef {import('../encoder/outboard.js').OutboardParts} OutboardParts */
/** @typedef {import('../lib/hash/cid.js').NamedBlob} NamedBlob */
/** @typedef {import('../lib/outboard/pairs.js').Order} Order */
/** @typedef {import('../lib/core/types.js').PairReader} PairReader */
/** @typedef {import('../lib/core/errors.js').BaoError} BaoError */
/** @typedef {import('../lib/core/errors.js').BaoErrorCode} BaoErrorCode */
/** @typedef {import('../lib/tree/ranges.js').ChunkRanges} ChunkRanges */
/** @typedef {import('../lib/tree/ranges.js').RangesLike} RangesLike */
/** @typedef {import('../lib/core/types.js').ProgressEvent} ProgressEvent */
/** @typedef {import('../lib/core/types.js').ProgressOptions} ProgressOptions */
/** @typedef {import('../lib/core/types.js').RandomAccess} RandomAccess */
/** @typedef {import('../lib/core/types.js').SliceOutboard} SliceOutboard */
/** @typedef {import('../lib/core/types.js').Source} Source */
/** @typedef {import('../lib/core/types.js').Step} Step */
