// The entry point `baobox/encoder`: makes outboards, encodings, slices and proofs.

export { Outboard } from './outboard.js'
export { createOutboard, createOutboardSync } from './create-outboard.js'
export { appendOutboard } from './append.js'
export { writeOutboard } from './write.js'
export { openOutboard } from '../lib/outboard/paged-outboard.js'
export { openEncoding } from '../lib/outboard/combined-encoding.js'
export { encode, encodeStream } from './combined.js'
export { encodeSlice, encodeSliceSync, sliceLen } from './slice.js'
export { Proof } from '../lib/slice/proof.js'
export { createProof, createProofSync } from './proof.js'

// Types in the signatures above.

/** @typedef {import('./outboard.js').OutboardParts} OutboardParts */
/** @typedef {import('./create-outboard.js').OutboardOptions} OutboardOptions */
/** @typedef {import('./append.js').AppendOptions} AppendOptions */
/** @typedef {import('./combined.js').EncodeOptions} EncodeOptions */
/** @typedef {import('./write.js').FileLayout} FileLayout */
/** @typedef {import('./write.js').WriteOptions} WriteOptions */
/** @typedef {import('./write.js').KeptOutboard} KeptOutboard */
/** @typedef {import('./write.js').WrittenOutboard} WrittenOutboard */
/** @typedef {import('../lib/hash/cid.js').BlobName} BlobName */
/** @typedef {import('../lib/hash/cid.js').NamedBlob} NamedBlob */
/** @typedef {import('../lib/outboard/combined-encoding.js').EncodingInfo} EncodingInfo */
/** @typedef {import('../lib/outboard/paged-outboard.js').OutboardLayout} OutboardLayout */
/** @typedef {import('../lib/outboard/paged-outboard.js').OutboardInfo} OutboardInfo */
/** @typedef {import('../lib/outboard/paged-outboard.js').PagedOutboard} PagedOutboard */
/** @typedef {import('./slice.js').SliceOptions} SliceOptions */
/** @typedef {import('./slice.js').StreamOptions} StreamOptions */
/** @typedef {import('./proof.js').ProofOptions} ProofOptions */
/** @typedef {import('../lib/outboard/pairs.js').Order} Order */
/** @typedef {import('../lib/tree/ranges.js').ChunkRanges} ChunkRanges */
/** @typedef {import('../lib/tree/ranges.js').ByteRange} ByteRange */
/** @typedef {import('../lib/tree/ranges.js').RangeLike} RangeLike */
/** @typedef {import('../lib/tree/ranges.js').RangesLike} RangesLike */
/** @typedef {import('../lib/core/types.js').PairReader} PairReader */
/** @typedef {import('../lib/core/types.js').PairSource} PairSource */
/** @typedef {import('../lib/core/types.js').ProgressEvent} ProgressEvent */
/** @typedef {import('../lib/core/types.js').ProgressOptions} ProgressOptions */
/** @typedef {import('../lib/core/types.js').RandomAccess} RandomAccess */
/** @typedef {import('../lib/core/types.js').RandomAccessSink} RandomAccessSink */
/** @typedef {import('../lib/core/types.js').SliceOutboard} SliceOutboard */
/** @typedef {import('../lib/core/types.js').Source} Source */
/** @typedef {import('../lib/core/types.js').Step} Step */
/** @typedef {import('../lib/core/types.js').ThreadOptions} ThreadOptions */
