// The entry point `baobox/bucket`: buckets of object stores that speak S3, of R2, and in memory.

export { memoryBucket } from './memory.js'
export { s3 } from './s3.js'

// The types of public signatures.

/** @typedef {import('./bucket.js').Bucket} Bucket */
/** @typedef {import('./bucket.js').ListedObject} ListedObject */
/** @typedef {import('./bucket.js').ObjectInfo} ObjectInfo */
/** @typedef {import('./bucket.js').PutResult} PutResult */
/** @typedef {import('./bucket.js').ReadObject} ReadObject */
/** @typedef {import('./credentials.js').CredentialsGiver} CredentialsGiver */
/** @typedef {import('./credentials.js').Keys} Keys */
/** @typedef {import('./s3-options.js').S3Options} S3Options */
