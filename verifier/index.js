// What `import 'baobox/verifier'` gives.

export { fetchVerified } from './fetch.js'
export { httpSource } from './http.js'
export { SliceVerifier, decode, verifySlice } from './slice.js'
export { SliceSource } from './slice-source.js'
export { VerifiedReader } from './reader.js'
export { verifyStream } from './stream.js'
export { verifyTransform } from './transform.js'
export { validOutboardRanges, validRanges } from './valid.js'
export { Proof } from '../lib/proof.js'
export { verifyProof } from './proof.js'

// The types that signatures speak of.

/** @typedef {import('./fetch.js').FetchOptions} FetchOptions */
/** @typedef {import('./http.js').HttpOptions} HttpOptions */
/** @typedef {import('./leaves.js').KeepOptions} KeepOptions */
/** @typedef {import('./leaves.js').Leaf} Leaf */
/** @typedef {import('./slice.js').ReleaseOptions} ReleaseOptions */
/** @typedef {import('./slice.js').SliceOptions} SliceOptions */
/** @typedef {import('./slice.js').VerifyOptions} VerifyOptions */
/** @typedef {import('../lib/errors.js').BaoError} BaoError */
/** @typedef {import('../lib/errors.js').BaoErrorCode} BaoErrorCode */
/** @typedef {import('../lib/ranges.js').ChunkRanges} ChunkRanges */
/** @typedef {import('../lib/ranges.js').RangesLike} RangesLike */
/** @typedef {import('../lib/types.js').PairReader} PairReader */
/** @typedef {import('../lib/types.js').PairSource} PairSource */
/** @typedef {import('../lib/types.js').ProgressEvent} ProgressEvent */
/** @typedef {import('../lib/types.js').ProgressOptions} ProgressOptions */
/** @typedef {import('../lib/types.js').RandomAccess} RandomAccess */
/** @typedef {import('../lib/types.js').SliceOutboard} SliceOutboard */
/** @typedef {import('../lib/types.js').Source} Source */
/** @typedef {import('../lib/types.js').Step} Step */
/** @typedef {import('../lib/types.js').ThreadOptions} ThreadOptions */
