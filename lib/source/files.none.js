// Replaces files.node.js in browsers, which have no paths.

/** @param {string | URL} path @param {unknown} [_check] @returns {Promise<never>} */
export async function openFile (path, _check) {
  throw new TypeError(`paths are not supported in this runtime: give a Blob instead of ${path}`)
}

/** @param {string | URL} path @returns {Promise<never>} */
export async function createFile (path) {
  throw new TypeError(`paths are not supported in this runtime: give { write } instead of ${path}`)
}

export const changeFile = createFile

/**
 * @param {string | URL} path @param {Iterable<Uint8Array> | AsyncIterable<Uint8Array>} _pieces
 * @param {object} [_options]
 * @returns {Promise<never>}
 */
export async function replaceFile (path, _pieces, _options) {
  throw new TypeError(`there are no files here: ${path} cannot be written`)
}

/** True if a thread may read a Blob that another thread has. */
export const canShareBlobs = true

export const isOpenHere = () => false

export const readIntoSync = () => 0
