// Replaces the module `buffer` in pages. `level` needs it only for values of the type Buffer, which a store never has.
export const Buffer = { isBuffer: () => false }
