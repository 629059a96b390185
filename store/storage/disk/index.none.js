// Replaces index.node.js in browsers, where all bytes are in the databases.

/** @param {string} _path @param {string} [_location] @returns {Promise<undefined>} */
export const openFolder = async (_path, _location) => undefined

/**
 * Callers ask this before they open anything, because opening makes a missing store.
 *
 * @param {string} location
 * @returns {Promise<boolean>} also true when the browser cannot tell
 */
export async function isStoreAt (location) {
  if (typeof globalThis.indexedDB?.databases !== 'function') return true
  return (await globalThis.indexedDB.databases()).some(({ name }) => name?.endsWith(`${location}/index`))
}

/** @param {string} _path */
export const assertFolder = async _path => false

/** @param {string} _path */
export const assertLevel = async _path => {}

/** @param {string} _location @returns {Promise<Error | undefined>} */
export const openingFault = async _location => undefined

/** @param {string} _location @returns {Promise<Error | undefined>} */
export const rescueFault = async _location => undefined

/** @param {string} _location */
export const storeIdOf = async _location => ''

/** @param {string} _path @param {string} _storeId */
export const nameStore = async (_path, _storeId) => {}

/** @param {string} _path */
export const folderLen = async _path => 0

/** @param {string} _path */
export const exists = async _path => false

/** @param {string} path */
export const realPath = async path => path

/** @param {string} _path */
export const makeFolder = async _path => true

/** @param {string} _path */
export const makeFolders = async _path => {}

/** @param {string} _path */
export const removeFolder = async _path => {}

/** @param {string} _from @param {string} _to */
export const moveFolder = async (_from, _to) => {}

/** @param {string} _from @param {string} _to @param {string} _old */
export const replaceFolder = async (_from, _to, _old) => {}

/**
 * @param {string} _from @param {string | URL} _to @param {object} _options
 * @returns {Promise<boolean>}
 */
export const shareFile = async (_from, _to, _options) => false

/** @param {string} _path */
export const syncFiles = async _path => {}

/** @param {string} path @param {object} [_options] @returns {Promise<never>} */
export async function openRegular (path, _options) {
  throw new TypeError(`there are no files here: ${path} cannot be opened`)
}

/** @param {string | URL} path @returns {never} */
export function absolute (path) {
  throw new TypeError(`there are no files here: pass the Blob, not the path ${path}`)
}

/** @param {string} _path */
export const identityOf = async _path => ''

/** @param {string} _path */
export const logsLen = async _path => 0

/** @param {string} _path @param {number} _len */
export const assertSpaceFor = async (_path, _len) => {}

/** @param {string} _path */
export const syncOlderLogs = async _path => {}

/** @param {string} _path */
export const isMissing = async _path => false

/** @param {string} _from @param {string} _to @param {{ sync: boolean }} _options */
export const placeFolder = async (_from, _to, _options) => {}

/** @param {string} _path @param {string} _prefix */
export const removeFoldersLike = async (_path, _prefix) => {}

export const ownPid = undefined

/** @param {string} _path @param {string[]} _locks @returns {Promise<(() => Promise<void>) | undefined>} */
export const claimFolder = async (_path, _locks) => async () => {}

/** @param {string[]} _paths @returns {Promise<number | undefined>} */
export const lockOwner = async _paths => undefined

/** @param {string} [_parent] */
export const makeCopyFolder = async _parent => ''

/** @param {string} _from @param {string} _to @param {AbortSignal} [_signal] */
export const copyLive = async (_from, _to, _signal) => {}

/** @param {string[]} _paths */
export const stampOf = async _paths => ''

/** @param {string} _location @param {AbortSignal} [_signal] */
export const checkBeforeOpening = async (_location, _signal) => ({ fault: undefined, checked: undefined })

/** @param {string} _location @param {object} [_options] @returns {Promise<string | undefined>} */
export const findFaultInUse = async (_location, _options) => undefined

/** @param {string} _location @param {string} _name */
export const bytesLostSinceClosing = async (_location, _name) => 0

/** @param {string} _location */
export const removeSeal = async _location => {}

/** @param {string} _location @param {object} _checked */
export const sealStore = async (_location, _checked) => {}

/** @param {string} _path @param {object} _options @returns {Promise<{ fault?: string }>} */
export const checkDatabase = async (_path, _options) => ({})

export class Salvage {
  lostBytes = 0
  /** @returns {AsyncGenerator<import('./leveldb/salvage.js').Salvaged>} */
  async * entries () {}
}

/** @param {string} _path @param {string} [_location] @returns {import('./blob-folder.js').BlobFolder | undefined} */
export const readFolder = (_path, _location) => undefined
