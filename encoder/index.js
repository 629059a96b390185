// What `import 'baobox/encoder'` gives.

export { Outboard, createOutboard, createOutboardSync } from './outboard.js'
export { appendOutboard } from './append.js'
export { writeOutboard } from './write.js'
export { openOutboard } from '../lib/paged.js'
export { openEncoding } from '../lib/encoding.js'
export { encode, encodeStream } from './combined.js'
export { encodeSlice, encodeSliceSync, sliceLen } from './slice.js'
export { Proof } from '../lib/proof.js'
export { createProof, createProofSync } from './proof.js'

// The types that signatures speak of.

/** @typedef {import('./outboard.js').OutboardOptions} OutboardOptions */
/** @typedef {import('./append.js').AppendOptions} AppendOptions */
/** @typedef {import('./write.js').KeptOutboard} KeptOutboard */
/** @typedef {import('./write.js').WrittenOutboard} WrittenOutboard */
/** @typedef {import('../lib/paged.js').OutboardInfo} OutboardInfo */
/** @typedef {import('../lib/paged.js').PagedOutboard} PagedOutboard */
/** @typedef {import('./slice.js').SliceOptions} SliceOptions */
/** @typedef {import('./slice.js').StreamOptions} StreamOptions */
/** @typedef {import('./proof.js').ProofOptions} ProofOptions */
/** @typedef {import('../lib/pairs.js').Order} Order */
/** @typedef {import('../lib/ranges.js').ChunkRanges} ChunkRanges */
/** @typedef {import('../lib/ranges.js').RangesLike} RangesLike */
/** @typedef {import('../lib/types.js').PairReader} PairReader */
/** @typedef {import('../lib/types.js').PairSource} PairSource */
/** @typedef {import('../lib/types.js').ProgressEvent} ProgressEvent */
/** @typedef {import('../lib/types.js').ProgressOptions} ProgressOptions */
/** @typedef {import('../lib/types.js').RandomAccess} RandomAccess */
/** @typedef {import('../lib/types.js').RandomAccessSink} RandomAccessSink */
/** @typedef {import('../lib/types.js').SliceOutboard} SliceOutboard */
/** @typedef {import('../lib/types.js').Source} Source */
/** @typedef {import('../lib/types.js').Step} Step */
/** @typedef {import('../lib/types.js').ThreadOptions} ThreadOptions */
