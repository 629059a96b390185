// Writes members of a collection to new files in a folder that nobody else uses. Every byte is verified.

import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { copyFile, link, mkdir, open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { areEqual } from '../../../../lib/core/bytes.js'
import { fromCid } from '../../../../lib/hash/cid.js'
import { hashStream } from '../../../../lib/parallel/hash-source.js'
import { withRoom } from '../../../../lib/source/open-files.js'
import { paceBeside } from '../../../../store/storage/content/read-pace.js'
import { CELL_LEN } from '../../../../store/storage/content/extents.js'
import { contextOf } from '../../../../store/context-of.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobStore } from '../../../../store/blob-store.js' */
/** @import { BlobRecord } from '../../../../store/storage/format/records.js' */

/** @typedef {'copy' | 'reflink' | 'link'} ExportMode */
/** @typedef {{ name: string, cid: CID, record?: BlobRecord }} Member  `name`: safe, and no other member's */
/** @typedef {Member & { bytes?: Uint8Array }} LoadedMember  with its bytes, when they are few */

/** Bytes of a member that is read in one piece, at most. */
const SMALL_LEN = CELL_LEN / 4

export class MemberWriter {
  #store
  #folder
  #mode
  #signal
  #pace
  /** Folders of files that were made, or are being made, by their paths from the folder of the writer. */
  #folders = /** @type {Map<string, Promise<unknown>>} */ (new Map([['.', Promise.resolve()]]))

  /**
   * @param {BlobStore} store @param {string} folder
   * @param {{ mode: ExportMode, signal?: AbortSignal }} options
   */
  constructor (store, folder, { mode, signal }) {
    this.#store = store
    this.#folder = folder
    this.#mode = mode
    this.#signal = signal
    this.#pace = paceBeside(contextOf(store).databases.data)
  }

  /** Reads small members together. @param {Member[]} members @returns {AsyncGenerator<LoadedMember>} in their order */
  async * withBytes (members) {
    const small = members.filter(isSmall)
    const results = this.#store.getMany(small.map(({ cid }) => cid), { signal: this.#signal })
    try {
      for (const member of members) {
        if (!isSmall(member)) {
          yield member
          continue
        }
        const { value } = await results.next()
        if (value.error !== undefined) throw value.error
        yield { ...member, bytes: value.bytes }
      }
    } finally {
      await results.return(undefined)
    }
  }

  /** @param {LoadedMember} member @returns {Promise<{ name: string, size: number }>} */
  async write ({ name, cid, record, bytes }) {
    this.#signal?.throwIfAborted()
    await this.#makeFolder(dirname(name))
    const path = join(this.#folder, name)
    if (bytes !== undefined) {
      await this.#pace.read(() => writeNow(path, bytes), () => writeNew(path, [bytes]))
      return { name, size: bytes.length }
    }
    if (record !== undefined && await this.#shared(path, cid, record)) return { name, size: record.size }
    const pieces = this.#store.get(cid, undefined, { reuse: true, verify: true, signal: this.#signal })
    return { name, size: await writeNew(path, pieces) }
  }

  /** @param {string} name  of a folder @returns {Promise<unknown>} */
  #makeFolder (name) {
    const known = this.#folders.get(name)
    if (known !== undefined) return known
    const made = mkdir(join(this.#folder, name), { recursive: true })
    this.#folders.set(name, made)
    made.catch(() => {}) // callers that await it get the error
    return made
  }

  /**
   * Makes a file that shares its blocks with the store's, and verifies it.
   *
   * @param {string} path @param {CID} cid @param {BlobRecord} record
   * @returns {Promise<boolean>} false when there is no such file now
   */
  async #shared (path, cid, record) {
    const { catalog, databases: { files } } = contextOf(this.#store)
    if (this.#mode === 'copy' || record.home !== 'file' || files === undefined) return false
    const own = files.pathOf(record.id)
    try {
      if (this.#mode === 'link') await link(own, path)
      else await copyFile(own, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    } catch {
      return false // another disk, or a blob that was replaced: the member is copied, which reports any other fault
    }
    const root = fromCid(cid)
    if (areEqual(await hashStream(path, { signal: this.#signal }), 0, root)) {
      // From now on nothing is appended to the file, because it has this second name. But it may have grown before it
      // got the name.
      const { record: now } = await catalog.find(root)
      if (this.#mode !== 'link' || (now?.home === 'file' && now.id === record.id)) return true
    }
    await rm(path)
    return false
  }
}

/** @param {Member} member */
const isSmall = ({ record }) => record !== undefined && record.size <= SMALL_LEN

/** Small files are written synchronously while that is quick. @param {string} path @param {Uint8Array} bytes */
function writeNow (path, bytes) {
  const fd = openSync(path, 'wx')
  try {
    for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done)
    return bytes.length
  } finally {
    closeSync(fd)
  }
}

/**
 * @param {string} path  where nothing may be
 * @param {Iterable<Uint8Array> | AsyncIterable<Uint8Array>} pieces  each is written before the next is asked for
 * @returns {Promise<number>} bytes
 */
async function writeNew (path, pieces) {
  const handle = await withRoom(() => open(path, 'wx'))
  try {
    let len = 0
    for await (const piece of pieces) {
      for (let done = 0; done < piece.length;) done += (await handle.write(piece, done)).bytesWritten
      len += piece.length
    }
    return len
  } finally {
    await handle.close()
  }
}
