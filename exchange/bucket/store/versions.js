// Values that change, in a bucket where objects can only be created: `{folder}/{name}/{version}`. The highest version
// that is not void counts. docs/decisions/0046 says why each step is needed.

import { base16 } from 'multiformats/bases/base16'
import { LruCache } from '../../../lib/core/lru.js'
import { spreadWait } from '../tries.js'
import { bucketFailed } from '../errors.js'
import { versionKey } from '../layout.js'
import { encodeRecord, readRecord } from '../record.js'
import { create } from './epochs.js'

/** @import { Bucket, ListedObject } from '../bucket.js' */
/** @import { Clock } from '../../../verifier/mirrors/patience.js' */

/** @typedef {Record<string, unknown>} Value  what JSON can hold; `{ void: true }` if the version was taken back */
/** @typedef {{ version: number, object: ListedObject }} Version */
/** @typedef {{ folder: string, version: number, lower: Version[] }} Written  a version, and those that were below it */

const ID_LEN = 8
/** How many values are kept in memory. A value has at most 8 KiB, and usually some hundred bytes. */
const MAX_KEPT = 10_000
/** How often a write is tried when others write the same name. */
const MAX_TRIES = 10

export class Versions {
  #bucket
  #clock
  /** Values that were read, by key and ETag: a number can be used again for another value. */
  #kept = /** @type {LruCache<string, Value>} */ (new LruCache(MAX_KEPT))

  /** @param {Bucket} bucket @param {Clock} clock */
  constructor (bucket, clock) {
    this.#bucket = bucket
    this.#clock = clock
  }

  /**
   * @param {string} folder  of the name, without a slash at its end @param {AbortSignal} [signal]
   * @returns {Promise<Version[]>} the lowest first
   */
  async list (folder, signal) {
    const versions = []
    for await (const object of this.#bucket.list(`${folder}/`, '', { signal })) {
      const version = numberIn(object.key, folder)
      if (version !== undefined) versions.push({ version, object })
    }
    return versions
  }

  /**
   * @param {ListedObject} object @param {AbortSignal} [signal]
   * @returns {Promise<Value | undefined>} undefined if the version is gone
   * @throws {import('../../../lib/core/errors.js').BaoError} BUCKET_INVALID
   */
  async read ({ key, etag }, signal) {
    const name = `${key} ${etag}`
    const kept = etag === undefined ? undefined : this.#kept.get(name)
    if (kept !== undefined) return kept
    const value = await readRecord(this.#bucket, key, signal)
    if (value !== undefined) this.#kept.set(name, value)
    return value
  }

  /**
   * Makes a new highest version of a name, which is not acknowledged yet: the caller must look for condemned keys, and
   * then call `tidy` or `takeBack`.
   *
   * @param {string} folder
   * @param {() => Value} makeValue  called after the list: the time of the bucket is that of its last answer
   * @param {object} [options]
   * @param {(versions: Version[]) => Promise<boolean>} [options.isMeant]  gets the versions that are there before each
   *   try. If it returns false, nothing is written
   * @param {AbortSignal} [options.signal]
   * @returns {Promise<Written | undefined>} undefined if `isMeant` returned false
   * @throws {import('../../../lib/core/errors.js').BaoError} BUCKET_FAILED if others always write at the same time
   */
  async write (folder, makeValue, { isMeant, signal } = {}) {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const lower = await this.list(folder, signal)
      if (isMeant !== undefined && !await isMeant(lower)) return undefined
      const version = highest(lower) + 1
      if (await this.#create(folder, version, makeValue(), signal)) {
        const written = { folder, version, lower }
        const top = await this.list(folder, signal).then(highest).catch(async error => {
          await this.takeBack(written).catch(() => {}) // a version that stays was not acknowledged
          throw error
        })
        if (top === version) return written
        await this.#drop(folder, version, signal)
      }
      await this.#clock.sleep(spreadWait(tries, conflict(this.#bucket, folder)), signal)
    }
    throw conflict(this.#bucket, folder)
  }

  /** Deletes the versions below one that is acknowledged. @param {Written} written @param {AbortSignal} [signal] */
  async tidy ({ lower }, signal) {
    // What stays is deleted by the next write. Until then, it protects its blob.
    for (const { object } of lower) await this.#bucket.delete(object.key, { signal }).catch(() => {})
  }

  /**
   * Takes back a version that is not acknowledged. The version below it counts again.
   *
   * @param {Written} written @param {AbortSignal} [signal]
   */
  async takeBack ({ folder, version }, signal) {
    // A bucket may have an object that its lists hide.
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const top = highest(await this.list(folder, signal))
      if (top > version || await this.#create(folder, version + 1, { void: true }, signal)) break
    }
    await this.#drop(folder, version, signal)
  }

  /** @param {string} folder @param {number} version @param {Value} value @param {AbortSignal} [signal] */
  async #create (folder, version, value, signal) {
    const id = base16.baseEncode(crypto.getRandomValues(new Uint8Array(ID_LEN)))
    const { isWritten } = await create(
      this.#bucket, versionKey(folder, version), encodeRecord({ id, ...value }), signal)
    return isWritten
  }

  /**
   * Deletes a version that is not the highest. If it stays, it only protects its blob.
   *
   * @param {string} folder @param {number} version @param {AbortSignal} [signal]
   */
  async #drop (folder, version, signal) {
    await this.#bucket.delete(versionKey(folder, version), { signal }).catch(() => {})
  }
}

/** @param {Version[]} versions @returns {number} 0 if there is none */
export const highest = versions => versions.at(-1)?.version ?? 0

/** @param {string} key @param {string} folder */
function numberIn (key, folder) {
  const digits = key.slice(folder.length + 1)
  return /^\d{16}$/.test(digits) ? Number(digits) : undefined
}

/** @param {Bucket} bucket @param {string} folder */
const conflict = ({ location }, folder) =>
  bucketFailed(`${location}/${folder}`, 'others write the same name again and again')
