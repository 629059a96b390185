// Replaces `#disk` in the bundle of bench/browser-storage.js: what index.none.js is, with a folder if a case sets one.

import { OpfsFolder } from './opfs-folder.js'

/** @import { Opener } from './opfs-folder.js' */

export * from '../../../store/storage/disk/index.none.js'

export const choice = { open: /** @type {Opener | undefined} */ (undefined) }

/** @param {string} path */
export async function openFolder (path) {
  if (choice.open === undefined) return undefined
  const root = await navigator.storage.getDirectory()
  return new OpfsFolder(await root.getDirectoryHandle(encodeURIComponent(path), { create: true }), choice.open)
}
