// Workers (workerd) refuse to compile WebAssembly when they run. Their bundlers compile a file that is imported.

// @ts-expect-error: only these bundlers know what the file is.
import compiled from './engine.wasm'

/** @type {WebAssembly.Module | undefined} */
export const engine = compiled
