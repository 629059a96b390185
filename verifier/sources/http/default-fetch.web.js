// Replaces default-fetch.node.js in browsers.

export const defaultFetch = () => globalThis.fetch
