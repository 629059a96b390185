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
