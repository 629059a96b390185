// Sizes that the parts of the store share. Guests use them to choose the sizes of their batches.

import { CHUNK_LEN, DEFAULT_GROUP_LOG } from '../lib/core/constants.js'

/** Bytes of a chunk group, the unit in which the store keeps the bytes of a blob. */
export const GROUP_LEN = CHUNK_LEN << DEFAULT_GROUP_LOG

/** A store with files keeps a blob of more than this many bytes in a file. For shorter blobs, a database is cheaper. */
export const FILE_FROM = 1 << 20

/** `putMany` writes at most this many blobs, and at most this many bytes, in one batch. */
export const BATCH_COUNT = 1024
export const BATCH_LEN = 1 << 22

/**
 * `getMany` reads blobs of at most this many bytes together, and at most this many blobs in one lookup. Every database
 * keeps a blob of `LOOKUP_LEN` bytes in one extent.
 */
export const LOOKUP_LEN = 1 << 16
export const LOOKUP_COUNT = 64
