// Finds the files of a folder that an export must write again. Follows no links in the folder.

import { lstat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hasHash, paceBeside } from './found-file.js'
import { pathTaken } from './staging.js'

/** @import { FolderStore } from './import-directory.js' */
/** @import { Member } from './member-writer.js' */

const EXACT = /** @type {const} */ ({ bigint: true })

export class OutdatedFiles {
  #folder
  #pace
  #signal
  /** The folders that were seen, by their paths from the folder. */
  #folders = new Set(['.'])

  /** @param {FolderStore} store @param {string} folder  its real path @param {AbortSignal} [signal] */
  constructor (store, folder, signal) {
    this.#folder = folder
    this.#pace = paceBeside(store)
    this.#signal = signal
  }

  /**
   * True if the file of a member is missing, or has other bytes.
   *
   * @param {Member} member
   * @throws {import('../../../lib/core/errors.js').BaoError} PATH_EXISTS { location } when something other than a file
   *   is there, or something other than a folder is above it
   */
  async has ({ name, cid, size }) {
    if (!await this.#hasFolder(dirname(name))) return true
    const path = join(this.#folder, name)
    const stat = await lstat(path, EXACT).catch(unlessMissing)
    if (stat === undefined) return true
    if (!stat.isFile()) throw pathTaken(path, 'file')
    return stat.size !== BigInt(size) || !await hasHash({ name, path, stat }, cid, this.#pace, this.#signal)
  }

  /** @param {string} name @returns {Promise<boolean>} false if it is missing */
  async #hasFolder (name) {
    if (this.#folders.has(name)) return true
    if (!await this.#hasFolder(dirname(name))) return false
    const path = join(this.#folder, name)
    const stat = await lstat(path).catch(unlessMissing)
    if (stat === undefined) return false
    if (!stat.isDirectory()) throw pathTaken(path, 'folder')
    this.#folders.add(name)
    return true
  }
}

/** @param {Error & { code?: string }} error @returns {undefined} */
function unlessMissing (error) {
  if (error.code !== 'ENOENT') throw error
}
