// The entry point `baobox/collections/node`: folders as collections.

export { diffDirectory } from './diff-directory.js'
export { exportDirectory } from './export-directory.js'
export { importDirectory } from './import-directory.js'

// The types of public signatures.

/** @typedef {import('./diff-directory.js').DiffOptions} DiffOptions */
/** @typedef {import('./diff-directory.js').DirectoryDifference} DirectoryDifference */
/** @typedef {import('./export-directory.js').ExportDirectoryOptions} ExportDirectoryOptions */
/** @typedef {import('./import-directory.js').DirectoryEvent} DirectoryEvent */
/** @typedef {import('./import-directory.js').FolderStore} FolderStore */
/** @typedef {import('./import-directory.js').ImportDirectoryOptions} ImportDirectoryOptions */
/** @typedef {import('./import-directory.js').ImportDirectoryResult} ImportDirectoryResult */
/** @typedef {import('./import-directory.js').ImportRules} ImportRules */
/** @typedef {import('./member-writer.js').ExportMode} ExportMode */
/** @typedef {import('./patterns.js').SelectionOptions} SelectionOptions */
/** @typedef {import('../put-collection.js').PutCollectionOptions} PutCollectionOptions */
/** @typedef {import('../../../lib/hash/cid.js').BlobName} BlobName */
/** @typedef {import('../../../store/index.js').BlobStore} BlobStore */
/** @typedef {import('../../../store/index.js').PutOptions} PutOptions */
/** @typedef {import('../../../store/index.js').TempTag} TempTag */
/** @typedef {import('../../../store/interface.js').Store} Store */
