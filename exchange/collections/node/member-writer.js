// Writes members of a collection to new files in a folder that nobody else uses. Verifies every byte.

import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { replaceFile } from '#files'
import { FILE_FROM, LOOKUP_LEN } from '../../../store/interface.js'
import { paceBeside } from './found-file.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Pace } from '../../../lib/source/pace.js' */
/** @import { FolderStore } from './import-directory.js' */

/** @typedef {'copy' | 'reflink' | 'link'} ExportMode */
/** @typedef {{ name: string, cid: CID, size: number }} Member  `name`: safe, and unique */

export class MemberWriter {
  #store
  #folder
  #mode
  #signal
  /** @type {Pace} */
  #pace
  /** Folders that were made or are being made, by their paths relative to the folder of the writer. */
  #folders = /** @type {Map<string, Promise<unknown>>} */ (new Map([['.', Promise.resolve()]]))

  /**
   * @param {FolderStore} store @param {string} folder
   * @param {{ mode: ExportMode, signal?: AbortSignal }} options
   */
  constructor (store, folder, { mode, signal }) {
    this.#store = store
    this.#folder = folder
    this.#mode = mode
    this.#signal = signal
    this.#pace = paceBeside(store)
  }

  /** @param {Member} member @returns {Promise<Member>} the same member, when its file is complete */
  async write (member) {
    const { name, cid, size } = member
    const [store, signal] = [this.#store, this.#signal]
    signal?.throwIfAborted()
    await this.#makeFolder(dirname(name))
    const path = join(this.#folder, name)
    if (size <= LOOKUP_LEN) {
      const bytes = await store.bytes(cid, undefined, { verify: true, signal })
      // Small files are written synchronously while that is quick.
      await this.#pace.read(() => writeNow(path, bytes), () => writeFile(path, [bytes]))
    } else if (this.#mode !== 'copy' && size > FILE_FROM && store.exportFile !== undefined) {
      await store.exportFile(cid, path, { mode: this.#mode, durability: 'process', signal })
    } else {
      await writeFile(path, store.get(cid, undefined, { reuse: true, verify: true, signal }))
    }
    return member
  }

  /** @param {string} name  the name of a folder @returns {Promise<unknown>} */
  #makeFolder (name) {
    const known = this.#folders.get(name)
    if (known !== undefined) return known
    const made = mkdir(join(this.#folder, name), { recursive: true })
    this.#folders.set(name, made)
    made.catch(() => {}) // callers that await it get the error
    return made
  }
}

/** @param {string} path @param {Uint8Array} bytes @returns {unknown} */
const writeNow = (path, bytes) => writeFileSync(path, bytes, { flag: 'wx' })

/** @param {string} path @param {Iterable<Uint8Array> | AsyncIterable<Uint8Array>} pieces */
const writeFile = (path, pieces) => replaceFile(path, pieces, { sync: false })
