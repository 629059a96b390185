// Numbers and options that many tests share.

export const KIB = 1024
export const MIB = 1024 * KIB
/** Bytes of a chunk group, the unit in which slices are checked and stores keep what they receive. */
export const GROUP = 16 * KIB
/** Bytes of an extent in Node.js: a store cuts what is put into such pieces. */
export const EXTENT = 4 * GROUP
/** Keys and values of a level as Uint8Arrays, whatever the level was opened with. */
export const VIEWS = { keyEncoding: 'view', valueEncoding: 'view' }
