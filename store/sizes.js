// Sizes on which the store is built. Guests choose their own batches by them.

import { CHUNK_LEN, DEFAULT_GROUP_LOG } from '../lib/core/constants.js'

/** Bytes of a chunk group: the least that the store keeps of a blob. */
export const GROUP_LEN = CHUNK_LEN << DEFAULT_GROUP_LOG

/**
 * Blobs above this many bytes are kept in files, where there are files. A small blob costs more as a file than in a
 * database.
 */
export const FILE_FROM = 1 << 20

/** Most blobs, and most bytes, that `putMany` writes in one batch. */
export const BATCH_COUNT = 1024
export const BATCH_LEN = 1 << 22

/**
 * Longest blob that `getMany` reads together with others, in bytes: every database keeps such a blob in one extent.
 * Most blobs that it looks up at once.
 */
export const LOOKUP_LEN = 1 << 16
export const LOOKUP_COUNT = 64
