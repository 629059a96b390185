// Stands in for files.node.js in browsers.

/** @param {string | URL} path @returns {Promise<never>} */
export async function openFile (path) {
  throw new TypeError(`there are no files here: give the Blob, not the path ${path}`)
}

/** @param {string | URL} path @returns {Promise<never>} */
export async function createFile (path) {
  throw new TypeError(`there are no files here: give { write }, not the path ${path}`)
}

export const changeFile = createFile

/** @param {string | URL} path @param {AsyncIterable<Uint8Array>} _pieces @param {object} [_options] @returns {Promise<never>} */
export async function replaceFile (path, _pieces, _options) {
  throw new TypeError(`there are no files here: ${path} cannot be written`)
}

/** May a thread read a Blob that another has got? */
export const canShareBlobs = true

export const isOpenHere = () => false

export const readIntoSync = () => 0
