// The entry point `baobox/collections/node`: folders as collections.

export { diffDirectory } from './diff.js'
export { exportDirectory } from './export/export.js'
export { importDirectory } from './import.js'

// The types of public signatures.

/** @typedef {import('./diff.js').DiffOptions} DiffOptions */
/** @typedef {import('./diff.js').DirectoryDifference} DirectoryDifference */
/** @typedef {import('./export/export.js').ExportDirectoryOptions} ExportDirectoryOptions */
/** @typedef {import('./import.js').DirectoryEvent} DirectoryEvent */
/** @typedef {import('./import.js').ImportDirectoryOptions} ImportDirectoryOptions */
/** @typedef {import('./import.js').ImportDirectoryResult} ImportDirectoryResult */
/** @typedef {import('./import.js').ImportRules} ImportRules */
/** @typedef {import('./export/member-writer.js').ExportMode} ExportMode */
/** @typedef {import('./selection.js').SelectionOptions} SelectionOptions */
/** @typedef {import('../put.js').PutCollectionOptions} PutCollectionOptions */
/** @typedef {import('../../../store/write/put.js').PutOptions} PutOptions */
/** @typedef {import('../../../store/blob-store.js').BlobName} BlobName */
/** @typedef {import('../../../store/blob-store.js').BlobStore} BlobStore */
/** @typedef {import('../../../store/gc/protection.js').TempTag} TempTag */
