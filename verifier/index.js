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
