// Sizes that the parts of the store share. Guests choose the sizes of their batches by them.

import { CHUNK_LEN, DEFAULT_GROUP_LOG } from '../lib/core/constants.js'

/** Bytes of a chunk group, the smallest part of a blob that the store keeps. */
export const GROUP_LEN = CHUNK_LEN << DEFAULT_GROUP_LOG

/** A longer blob, in bytes, is kept in a file, if the store has files. For shorter ones a database is cheaper. */
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
