// Downloads into a store, in the process that has the store open: that of the command, or `baobox serve`.

import { getCollection } from '../../../exchange/collections/index.js'
import { withMirrors } from './peers.js'
import { download } from '../../../exchange/download/index.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName, BlobStore } from '../../../store/blob-store.js' */
/** @import { DownloadOptions, DownloadResult } from '../../../exchange/download/download.js' */
/** @import { WholeMember } from '../../../exchange/download/members/member-downloads.js' */
/** @import { OnAnswer } from './mirror-log.js' */
/** @import { MirrorPlace } from './places.js' */
/** @import { DownloadEvent } from '../../../exchange/download/progress.js' */

/**
 * @typedef {object} FetchedFile  a whole member
 * @property {string} [name]  undefined if the sequence is not a collection
 * @property {CID} cid
 * @property {number} size  bytes
 * @property {number} received  bytes that were missing before
 */
/** @typedef {DownloadEvent & { detail: { name?: string } }} FetchEvent  `name`: of the file that is being downloaded */
/**
 * @typedef {'ranges' | 'recursive' | 'parallel' | 'retries' | 'stall' | 'maxDuplicates' | 'maxUnverified' | 'tag'
 *   | 'signal'} PassedOptions
 * @typedef {Pick<DownloadOptions, PassedOptions> & {
 *   from: MirrorPlace[],
 *   relays: boolean,
 *   onProgress?: (event: FetchEvent) => void,
 *   onFile?: (file: FetchedFile) => void,
 *   onAnswer?: OnAnswer
 * }} FetchOptions  `relays`: use relays of iroh; `onFile` gets each file once, in any order
 */

/** The maximum number of members that wait for their names. If there are more, `onFile` gets them without names. */
const MAX_WAITING = 100_000

/** @param {BlobStore} store @param {BlobName} cid @param {FetchOptions} options @returns {Promise<DownloadResult>} */
export function downloadInto (store, cid, { from: places, relays, onFile, onAnswer, onProgress, ...options }) {
  return withMirrors(places, { relays, onAnswer }, async from => {
    if (!options.recursive) return download(store, cid, { ...options, from, onProgress })
    const files = new Files(store, cid, onFile)
    try {
      return await download(store, cid, {
        ...options,
        from,
        onMember: member => files.add(member),
        onProgress: event => onProgress?.({ ...event, detail: { ...event.detail, name: files.currentName(event) } })
      })
    } finally {
      await files.end()
    }
  })
}

/**
 * Passes the members of a sequence to `onFile`, with their names in the collection. The names are in the first member,
 * so the others wait for it.
 */
class Files {
  #store
  #cid
  #onFile
  #waiting = /** @type {WholeMember[]} */ ([])
  /** The names, once they are read; undefined if the sequence is not a collection. @type {string[] | undefined} */
  #names
  #hasRead = false
  #reading = /** @type {Promise<void> | undefined} */ (undefined)

  /** @param {BlobStore} store @param {BlobName} cid @param {FetchOptions['onFile']} [onFile] */
  constructor (store, cid, onFile) {
    this.#store = store
    this.#cid = cid
    this.#onFile = onFile
  }

  /** @param {WholeMember} member */
  add (member) {
    if (member.index === 0) this.#reading = this.#readNames()
    this.#waiting.push(member)
    if (this.#hasRead || this.#waiting.length > MAX_WAITING) this.#tellAll()
  }

  /** Gives `onFile` the members that are still waiting. */
  async end () {
    await this.#reading
    this.#tellAll()
  }

  /** @param {DownloadEvent} event */
  currentName ({ detail: { members } }) {
    const [first] = members?.current ?? []
    return first && this.#names?.[first.index - 1]
  }

  async #readNames () {
    try {
      this.#names = Array.from(await getCollection(this.#store, this.#cid), ([name]) => name)
    } catch {} // a sequence that is not a collection has no names
    this.#hasRead = true
    this.#tellAll()
  }

  #tellAll () {
    for (const { index, ...member } of this.#waiting.splice(0)) {
      const isFile = index > 0 || this.#names === undefined
      if (isFile) this.#onFile?.({ name: this.#names?.[index - 1], ...member })
    }
  }
}
