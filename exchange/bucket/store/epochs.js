// Epochs of garbage collection: `gc/{number}/begin`, `dead`, `final` and `done`. A writer that relies on a key looks
// here whether it was condemned. docs/decisions/0046 says why.

import { base16 } from 'multiformats/bases/base16'
import { BaoError } from '../../../lib/core/errors.js'
import { untilAborted } from '../../../lib/source/async-util.js'
import { bucketInvalid } from '../errors.js'
import { versionKey } from '../layout.js'
import { untilUnchanged } from '../read-all.js'
import { KeySet, readKeys } from './key-list.js'

/** @import { Bucket, ListedObject } from '../bucket.js' */

/** An epoch is over, and nobody does anything for it, when it has begun so many milliseconds ago: a week. */
export const EPOCH_MS = 7 * 24 * 60 * 60 * 1000

const KEY = /^gc\/(\d{16})\/(begin|dead|final|done)$/
const EPOCH_ID_LEN = 8
/** How often `gc/` is listed again, because a folder was removed since. */
const MAX_TRIES = 10

/**
 * @typedef {object} Epoch
 * @property {number} number
 * @property {ListedObject} [begin]
 * @property {ListedObject} [dead]
 * @property {ListedObject} [final]
 * @property {ListedObject} [done]
 */

/** What was seen in `gc/`. */
export class Look {
  #condemned
  /** The epochs whose folders were there, in order. @type {Epoch[]} */
  epochs
  /**
   * The look took place between these two times, by the clock of the bucket. `before`: the last answer before the
   * look; `after`: the last answer in it. Milliseconds since 1970.
   *
   * @type {{ before: number, after: number }}
   */
  time

  /** @param {Epoch[]} epochs @param {KeySet[]} condemned @param {{ before: number, after: number }} time */
  constructor (epochs, condemned, time) {
    this.epochs = epochs
    this.#condemned = condemned
    this.time = time
  }

  /** True if nobody may rely on a key any more. @param {string} key */
  isCondemned (key) { return this.#condemned.some(keys => keys.has(key)) }
}

export class Epochs {
  #bucket
  /** The lists of keys that were read, by key and ETag. A list is created once and never changes. */
  #lists = /** @type {Map<string, KeySet>} */ (new Map())
  /** The look that has begun last. */
  #underWay = /** @type {Promise<unknown>} */ (Promise.resolve())
  /** The look that begins when that one has ended. @type {Promise<Look> | undefined} */
  #next
  /** What was seen last. @type {Look | undefined} */
  last

  /** @param {Bucket} bucket */
  constructor (bucket) {
    this.#bucket = bucket
  }

  /** The time of the bucket, in milliseconds since 1970. */
  get now () { return this.#bucket.lastAnswer?.getTime() ?? Date.now() }

  /**
   * Looks at `gc/`, after the call. Calls at the same time share a look that begins after all of them.
   *
   * @param {AbortSignal} [signal] @returns {Promise<Look>}
   */
  look (signal) {
    this.#next ??= this.#underWay.then(() => {
      this.#next = undefined
      const look = this.#look()
      this.#underWay = look.catch(() => {})
      return look
    })
    return untilAborted(this.#next, signal)
  }

  /** @returns {Promise<Look>} */
  async #look () {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const before = this.now
      const epochs = await this.#list()
      const condemned = await this.#condemnedIn(epochs)
      if (condemned !== undefined) return (this.last = new Look(epochs, condemned, { before, after: this.now }))
    }
    throw bucketInvalid(`${this.#bucket.location}/gc/`, 'it lists objects that are not there')
  }

  /** @returns {Promise<Epoch[]>} */
  async #list () {
    const epochs = /** @type {Map<number, Epoch>} */ (new Map())
    for await (const object of this.#bucket.list('gc/')) {
      const match = KEY.exec(object.key)
      if (match === null) continue
      const number = Number(match[1])
      if (!epochs.has(number)) epochs.set(number, { number })
      const epoch = /** @type {Epoch} */ (epochs.get(number))
      epoch[/** @type {'begin'} */ (match[2])] = object
    }
    return [...epochs.values()]
  }

  /**
   * Reads the keys that are condemned: `final` of each epoch, or `dead` while there is no `final`.
   *
   * @param {Epoch[]} epochs
   * @returns {Promise<KeySet[] | undefined>} undefined if a list was removed since it was seen
   */
  async #condemnedIn (epochs) {
    const lists = /** @type {Map<string, KeySet>} */ (new Map())
    for (const { dead, final } of epochs) {
      const object = final ?? dead
      if (object === undefined) continue
      const name = `${object.key} ${object.etag}`
      const known = object.etag === undefined ? undefined : this.#lists.get(name)
      const keys = known === undefined ? await readKeys(this.#bucket, object.key) : []
      if (keys === undefined) return undefined
      lists.set(name, known ?? new KeySet(keys))
    }
    this.#lists = lists
    return [...lists.values()]
  }

  /**
   * Begins an epoch with the next number that is free.
   *
   * @param {AbortSignal} [signal] @returns {Promise<OwnEpoch>}
   */
  async begin (signal) {
    const id = base16.baseEncode(crypto.getRandomValues(new Uint8Array(EPOCH_ID_LEN)))
    const { epochs } = await this.look(signal)
    const since = this.now
    for (let number = (epochs.at(-1)?.number ?? 0) + 1; ; number++) {
      const key = `${folderOf(number)}/begin`
      const { isWritten } = await create(this.#bucket, key, new TextEncoder().encode(id), signal)
      if (isWritten) return new OwnEpoch(this.#bucket, { number, since, signal, now: () => this.now })
    }
  }

  /**
   * Returns an epoch whose keys another process has condemned, and whose deletion it has not finished.
   *
   * @param {Epoch} epoch @param {AbortSignal} [signal]
   * @returns {Promise<{ epoch: OwnEpoch, keys: string[] } | undefined>} undefined if there is nothing to finish
   */
  async unfinished ({ number, begin, final, done }, signal) {
    if (done !== undefined || final === undefined || begin?.modified === undefined) return undefined
    const since = begin.modified.getTime()
    const keys = this.now - since < EPOCH_MS ? await readKeys(this.#bucket, final.key, signal) : undefined
    return keys && { epoch: new OwnEpoch(this.#bucket, { number, since, signal, now: () => this.now }), keys }
  }

  /**
   * Removes the folders of old epochs, `begin` first. The last one stays, so that no number is used twice.
   *
   * @param {Epoch[]} epochs @param {number} maxAge  milliseconds @param {AbortSignal} [signal]
   */
  async removeOld (epochs, maxAge, signal) {
    for (const { begin, dead, final, done } of epochs.slice(0, -1)) {
      const isOld = begin === undefined || this.now - (begin.modified?.getTime() ?? Infinity) > maxAge
      if (!isOld) continue
      for (const object of [begin, dead, final, done]) {
        if (object !== undefined) await this.#bucket.delete(object.key, { signal })
      }
    }
  }
}

/** An epoch in which this process condemns or deletes keys. After a week, its calls throw. */
export class OwnEpoch {
  #bucket
  #number
  #since
  #signal
  #now
  /** Its age when this process began to work for it, and when that was, by the clock of this machine. */
  #start

  /**
   * @param {Bucket} bucket
   * @param {{ number: number, since: number, now: () => number, signal?: AbortSignal }} epoch  `since`: when it began,
   *   in milliseconds since 1970
   */
  constructor (bucket, { number, since, now, signal }) {
    this.#bucket = bucket
    this.#number = number
    this.#since = since
    this.#now = now
    this.#signal = signal
    this.#start = { age: now() - since, at: Date.now() }
  }

  /** @param {'dead' | 'final' | 'done'} name @param {Uint8Array} [body] */
  async create (name, body = new Uint8Array(0)) {
    this.assertNotOver()
    const key = `${folderOf(this.#number)}/${name}`
    const { isWritten } = await create(this.#bucket, key, body, this.#signal)
    if (isWritten || name === 'done') return // Another process may have finished the epoch.
    const location = `${this.#bucket.location}/${key}`
    throw new BaoError('STORE_CHANGED', `somebody else has created ${location}: collect again`, { location })
  }

  /** Deletes a condemned key. @param {string} key */
  async delete (key) {
    this.assertNotOver()
    await this.#bucket.delete(key, { signal: this.#signal })
  }

  assertNotOver () {
    // The last answer may be old: a machine that has slept for weeks goes on with the next request.
    const age = Math.max(this.#now() - this.#since, this.#start.age + Date.now() - this.#start.at)
    if (age < EPOCH_MS) return
    const { location } = this.#bucket
    const text = `the collection of garbage in ${location} took more than a week: begin another one`
    throw new BaoError('STORE_CHANGED', text, { location })
  }
}

/** @param {number} number */
const folderOf = number => versionKey('gc', number)

/**
 * Creates an object, and finds out whether it is that of this call: the answer to a create may be lost, and then the
 * next try finds the object.
 *
 * @param {Bucket} bucket @param {string} key @param {Uint8Array} body  nobody else creates the same
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ isWritten: boolean }>}
 */
export async function create (bucket, key, body, signal) {
  const isThere = () => untilUnchanged(async () => {
    const object = await bucket.get(key, { start: 0, end: body.length + 1 }, { signal })
    if (object === undefined) return false
    let at = 0
    let isSame = object.size === body.length
    for await (const piece of object.body) {
      isSame &&= piece.every((byte, i) => byte === body[at + i])
      at += piece.length
    }
    return isSame && at === body.length
  })
  try {
    const { isWritten } = await bucket.put(key, body, { ifAbsent: true, signal })
    return { isWritten: isWritten || await isThere() }
  } catch (error) {
    const isUnknown = error instanceof BaoError && error.code === 'BUCKET_UNKNOWN'
    if (isUnknown && await isThere()) return { isWritten: true }
    throw error
  }
}
