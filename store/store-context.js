// The name by which guests know the parts of a store. It goes when the last of them uses the interface.

/** @typedef {import('./open.js').StoreParts} StoreContext */

export {}
