// Sizes that the parts of the store share. Guests use them to choose the sizes of their batches.

import { CHUNK_LEN, DEFAULT_GROUP_LOG } from '../lib/core/constants.js'

/** Bytes of a chunk group, the unit in which the store keeps the bytes of a blob. */
export const GROUP_LEN = CHUNK_LEN << DEFAULT_GROUP_LOG

/**
 * If the store has files, a blob that is longer than this, in bytes, is kept in one. For shorter blobs, a database is
 * cheaper.
 */
export const FILE_FROM = 1 << 20

/** Most blobs, and most bytes, that `putMany` writes in one batch. */
export const BATCH_COUNT = 1024
export const BATCH_LEN = 1 << 22

/**
 * Longest blob that `getMany` reads together with others, in bytes, and most blobs in one lookup. Every database keeps
 * a blob of this length in one extent.
 */
export const LOOKUP_LEN = 1 << 16
export const LOOKUP_COUNT = 64
