// The entry point `baobox/bucket`: buckets of object stores that speak S3, of R2, and in memory; blobs in them.

export { adopt } from './adopt.js'
export { BucketStore } from './store/bucket-store.js'
export { memoryBucket } from './memory.js'
export { bucketMirror } from './mirror.js'
export { probe } from './probe.js'
export { r2Bucket } from './r2.js'
export { s3 } from './s3.js'

// The types of public signatures.

/** @typedef {import('./adopt.js').AdoptedObject} AdoptedObject */
/** @typedef {import('./adopt.js').AdoptOptions} AdoptOptions */
/** @typedef {import('./adopt.js').AdoptParts} AdoptParts */
/** @typedef {import('./adopt.js').LeftObject} LeftObject */
/** @typedef {import('./bucket.js').Bucket} Bucket */
/** @typedef {import('./bucket.js').ListedObject} ListedObject */
/** @typedef {import('./bucket.js').ObjectInfo} ObjectInfo */
/** @typedef {import('./bucket.js').PutResult} PutResult */
/** @typedef {import('./bucket.js').ReadObject} ReadObject */
/** @typedef {import('./bucket.js').ReadPart} ReadPart */
/** @typedef {import('./bucket.js').UrlOptions} UrlOptions */
/** @typedef {import('./credentials.js').CredentialsGiver} CredentialsGiver */
/** @typedef {import('./credentials.js').Keys} Keys */
/** @typedef {import('./r2.js').R2Binding} R2Binding */
/** @typedef {import('./r2.js').R2Object} R2Object */
/** @typedef {import('./r2.js').R2Part} R2Part */
/** @typedef {import('./r2.js').R2Upload} R2Upload */
/** @typedef {import('./s3-options.js').S3Options} S3Options */
/** @typedef {import('./store/aliases.js').BucketAliases} BucketAliases */
/** @typedef {import('./store/bucket-store.js').BucketStoreOptions} BucketStoreOptions */
/** @typedef {import('./store/tags.js').BucketTags} BucketTags */
/** @typedef {import('../../lib/core/errors.js').BaoError} BaoError */
/** @typedef {import('../../lib/core/types.js').ProgressOptions} ProgressOptions */
/** @typedef {import('../../lib/core/types.js').RandomAccess} RandomAccess */
/** @typedef {import('../../lib/core/types.js').Source} Source */
/** @typedef {import('../../verifier/mirrors/mirror.js').Mirror} Mirror */
/** @typedef {import('../../verifier/mirrors/server/url-mirror.js').SliceRequest} SliceRequest */
