// Runtimes that compile WebAssembly when they run need no compiled engine.

/** @type {WebAssembly.Module | undefined} */
export const engine = undefined
