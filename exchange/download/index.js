// The entry point `baobox/download`: downloads from many mirrors, into a store or to a file.

export { download } from './download.js'
export { downloadFile } from './download-file.js'
export { fromMirrors } from './from-mirrors.js'

// The types of public signatures.

/** @typedef {import('./download.js').DownloadOptions} DownloadOptions */
/** @typedef {import('./download.js').DownloadResult} DownloadResult */
/** @typedef {import('./from-mirrors.js').FromMirrorsOptions} FromMirrorsOptions */
/** @typedef {import('./from-mirrors.js').MirrorRequestEvent} MirrorRequestEvent */
/** @typedef {import('./from-mirrors.js').WantedOptions} WantedOptions */
/** @typedef {import('./progress.js').DownloadEvent} DownloadEvent */
/** @typedef {import('./progress.js').DownloadState} DownloadState */
/** @typedef {import('./progress.js').MembersState} MembersState */
/** @typedef {import('./progress.js').MemberState} MemberState */
/** @typedef {import('./download.js').FileDownloadOptions} FileDownloadOptions */
/** @typedef {import('./members/lost-members.js').MissingMember} MissingMember */
/** @typedef {import('./members/member-downloads.js').WholeMember} WholeMember */
/** @typedef {import('../../verifier/mirrors/mirror-record.js').MirrorReport} MirrorReport */
/** @typedef {import('../../verifier/mirrors/mirror-record.js').MirrorState} MirrorState */
/** @typedef {import('../../verifier/mirrors/mirror.js').GiveSlice} GiveSlice */
/** @typedef {import('../../verifier/mirrors/mirror.js').Mirror} Mirror */
/** @typedef {import('../../verifier/mirrors/mirror.js').MirrorLike} MirrorLike */
/** @typedef {import('../../verifier/mirrors/mirror.js').GiveMembers} GiveMembers */
/** @typedef {import('../../verifier/mirrors/mirror.js').PlainParts} PlainParts */
/** @typedef {import('../../verifier/mirrors/mirror.js').SliceGiver} SliceGiver */
/** @typedef {import('../../verifier/mirrors/server/url-mirror.js').SliceRequest} SliceRequest */
/** @typedef {import('../../verifier/mirrors/server/url-mirror.js').OnDuplicate} OnDuplicate */
/** @typedef {import('../../verifier/mirrors/server/url-mirror.js').WholeFile} WholeFile */
/** @typedef {import('../../verifier/sources/http/options.js').HttpOptions} HttpOptions */
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
