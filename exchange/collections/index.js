// The entry point `baobox/collections`: names for many blobs under one CID, byte for byte as iroh has them.

export { Collection } from './collection.js'
export { collectionEntries, getCollection } from './get-collection.js'
export { memberStats } from './member-stats.js'
export { putCollection } from './put-collection.js'
export { Manifest } from './web/manifest.js'
export { getManifest, putManifest } from './web/stored-manifest.js'

// The types of public signatures.

/** @typedef {import('./collection.js').CollectionEntry} CollectionEntry */
/** @typedef {import('./collection.js').NewEntry} NewEntry */
/** @typedef {import('./member-stats.js').MemberStat} MemberStat */
/** @typedef {import('./put-collection.js').PutCollectionOptions} PutCollectionOptions */
/** @typedef {import('./web/manifest.js').NewResource} NewResource */
/** @typedef {import('./web/manifest.js').Resource} Resource */
/** @typedef {import('./web/stored-manifest.js').PutManifestResult} PutManifestResult */
/** @typedef {import('./put-collection.js').PutCollectionResult} PutCollectionResult */
/** @typedef {import('../../store/index.js').BlobStat} BlobStat */
/** @typedef {import('../../store/index.js').PutOptions} PutOptions */
/** @typedef {import('../../lib/hash/cid.js').BlobName} BlobName */
/** @typedef {import('../../store/index.js').TempTag} TempTag */
/** @typedef {import('../../store/interface.js').Store} Store */
