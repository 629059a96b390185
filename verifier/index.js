// The entry point `baobox/verifier`: verifies encodings, slices, proofs and downloads.

export { fetchVerified } from './mirrors/fetch-verified.js'
export { Mirror, mirrorOf } from './mirrors/mirror.js'
export { httpSource } from './sources/http/source.js'
export { SliceVerifier, decode, verifySlice } from './slice/slice.js'
export { SliceSource } from './slice/slice-source.js'
export { VerifiedReader } from './sources/reader.js'
export { verifyStream } from './slice/stream.js'
export { verifyTransform } from './slice/transform.js'
export { validOutboardRanges, validRanges } from './valid.js'
export { Proof } from '../lib/slice/proof.js'
export { verifyProof } from './proof.js'

// Types in the signatures above.

/** @typedef {import('./proof.js').ProofTerms} ProofTerms */
/** @typedef {import('./mirrors/fetch-verified.js').FetchParts} FetchParts */
/** @typedef {import('./mirrors/fetch-verified.js').FetchOptions} FetchOptions */
/** @typedef {import('./mirrors/mirror.js').GiveSlice} GiveSlice */
/** @typedef {import('./mirrors/mirror.js').MirrorLike} MirrorLike */
/** @typedef {import('./mirrors/mirror.js').GiveMembers} GiveMembers */
/** @typedef {import('./mirrors/mirror.js').PlainParts} PlainParts */
/** @typedef {import('./mirrors/mirror.js').SliceGiver} SliceGiver */
/** @typedef {import('./mirrors/server/url-mirror.js').SliceRequest} SliceRequest */
/** @typedef {import('./mirrors/server/url-mirror.js').WholeFile} WholeFile */
/** @typedef {import('./mirrors/server/url-mirror.js').OnDuplicate} OnDuplicate */
/** @typedef {import('./mirrors/mirror-book.js').TryOptions} TryOptions */
/** @typedef {import('./sources/reader.js').ReadOptions} ReadOptions */
/** @typedef {import('./sources/http/options.js').HttpOptions} HttpOptions */
/** @typedef {import('./slice/leaves.js').KeepOptions} KeepOptions */
/** @typedef {import('./slice/leaves.js').Leaf} Leaf */
/** @typedef {import('./slice/wanted-bytes.js').ExactOptions} ExactOptions */
/** @typedef {import('./slice/slice.js').ReleaseOptions} ReleaseOptions */
/** @typedef {import('./slice/slice.js').SliceTerms} SliceTerms */
/** @typedef {import('./slice/slice.js').SliceOptions} SliceOptions */
/** @typedef {import('./slice/slice.js').VerifyOptions} VerifyOptions */
/** @typedef {import('./slice/transform.js').VerifyTransform} VerifyTransform */
/** @typedef {import('../lib/hash/cid.js').BlobName} BlobName */
/** @typedef {import('../lib/hash/cid.js').NamedBlob} NamedBlob */
/** @typedef {import('../lib/core/errors.js').BaoError} BaoError */
/** @typedef {import('../lib/core/errors.js').BaoErrorCode} BaoErrorCode */
/** @typedef {import('../lib/tree/ranges.js').ChunkRanges} ChunkRanges */
/** @typedef {import('../lib/tree/ranges.js').ByteRange} ByteRange */
/** @typedef {import('../lib/tree/ranges.js').RangeLike} RangeLike */
/** @typedef {import('../lib/tree/ranges.js').RangesLike} RangesLike */
/** @typedef {import('../lib/core/types.js').PairReader} PairReader */
/** @typedef {import('../lib/core/types.js').PairSource} PairSource */
/** @typedef {import('../lib/core/types.js').ProgressEvent} ProgressEvent */
/** @typedef {import('../lib/core/types.js').ProgressOptions} ProgressOptions */
/** @typedef {import('../lib/core/types.js').RandomAccess} RandomAccess */
/** @typedef {import('../lib/core/types.js').SliceOutboard} SliceOutboard */
/** @typedef {import('../lib/core/types.js').Source} Source */
/** @typedef {import('../lib/core/types.js').Step} Step */
/** @typedef {import('../lib/core/types.js').ThreadOptions} ThreadOptions */
