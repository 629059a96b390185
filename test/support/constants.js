// Numbers and options that many tests share.

export const KIB = 1024
export const MIB = 1024 * KIB
/** Bytes of a chunk group, the unit in which stores keep what they receive. */
export const GROUP = 16 * KIB
/** Bytes of an extent in Node.js. */
export const EXTENT = 4 * GROUP
/** Options that give keys and values as Uint8Arrays, however the level was opened. */
export const VIEWS = { keyEncoding: 'view', valueEncoding: 'view' }
