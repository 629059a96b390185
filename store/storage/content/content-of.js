// Makes the content of a record. Only this file looks at the home that a record names.

import { HASH_LEN } from '../../../lib/core/constants.js'
import { FILE_FROM } from '../../sizes.js'
import { ExtentContent } from './extent-content.js'
import { FileContent, ReferenceContent, SharedContent } from './file-content.js'

/** @import { Databases } from '../databases.js' */
/** @import { StoredFile } from './file-content.js' */
/** @import { BlobRecord, Home } from '../format/records.js' */

/** @typedef {ExtentContent | StoredFile} Content */
/** @typedef {ReturnType<Content['reader']>} BytesReader */

/** For callers that do not know or need a root. */
export const PLACEHOLDER_ROOT = new Uint8Array(HASH_LEN)

/**
 * @param {Databases} databases @param {Uint8Array} root  for errors only @param {BlobRecord} record
 * @returns {Content}
 */
export function contentOf (databases, root, record) {
  switch (record.home) {
    case 'extents': return new ExtentContent(databases, root, record)
    case 'file': return new FileContent(databases, root, record)
    case 'reference': return new ReferenceContent(databases, root, record)
    case 'shared': return new SharedContent(databases, root, record)
  }
}

/**
 * Returns the home of a new blob.
 *
 * @param {Pick<Databases, 'files'>} databases @param {number} size  bytes
 * @returns {Home}
 */
export const homeOf = ({ files }, size) => files !== undefined && size > FILE_FROM ? 'file' : 'extents'
