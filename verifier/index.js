// What `import 'baobox/verifier'` gives.

export { SliceVerifier, decode, verifySlice } from './slice.js'
export { VerifiedReader } from './reader.js'
export { verifyStream, verifyTransform } from './stream.js'
export { validOutboardRanges, validRanges } from './valid.js'
export { Proof } from '../lib/proof.js'
export { verifyProof } from './proof.js'
