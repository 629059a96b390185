// Epochs of garbage collection: `gc/{number}.{id}/begin`, `dead`, `final` and `done`. A writer that relies on a key
// looks here whether it was condemned. docs/decisions/0046 says why.

import { base16 } from 'multiformats/bases/base16'
import { eachOf, forEachOf, inOrder } from '../../../lib/async/in-order.js'
import { BaoError } from '../../../lib/core/errors.js'
import { untilAborted } from '../../../lib/source/async-util.js'
import { bucketInvalid } from '../errors.js'
import { versionKey } from '../layout.js'
import { untilUnchanged } from '../read-all.js'
import { KeySet, encodeKeys, nameIn, readKeys } from './key-list.js'

/** @import { Bucket, ListedObject } from '../bucket.js' */

const DAY_MS = 24 * 60 * 60 * 1000
/** An epoch is over, and nobody does anything for it, when it has begun so many milliseconds ago. */
export const EPOCH_MS = 7 * DAY_MS
/** The collector of an epoch that has `dead`, no `final`, and has begun so many milliseconds ago counts as stopped. */
const GIVEN_UP_MS = DAY_MS

const KEY = /^(gc\/(\d{16})\.[\da-f]{16})\/(begin|dead|final|done)$/
const EPOCH_ID_LEN = 8
/** So many epochs that are done, and whose lists of keys are not longer than this, are merged: into one of 4 MB. */
const MIN_MERGED = 32
const MAX_MERGED = 256
const MAX_MERGED_LEN = 1 << 14
const NO_KEYS_LEN = encodeKeys([]).length
/** How many lists are read, and folders removed, at the same time. */
const PARALLEL = 32
/** How often `gc/` is listed again, because a folder was removed since. */
const MAX_TRIES = 10

/**
 * @typedef {object} Epoch
 * @property {string} folder  its key, without a slash at the end
 * @property {number} number
 * @property {ListedObject} [begin]
 * @property {ListedObject} [dead]
 * @property {ListedObject} [final]
 * @property {ListedObject} [done]
 */

/** What was seen in `gc/`. */
export class Look {
  #condemned
  #deleted
  /** The epochs whose folders were there, in order. @type {Epoch[]} */
  epochs
  /**
   * The look took place between these two times, by the clock of the bucket. `before`: the last answer before the
   * look; `after`: the last answer in it. Milliseconds since 1970.
   *
   * @type {{ before: number, after: number }}
   */
  time

  /**
   * @param {Epoch[]} epochs
   * @param {{ condemned: KeySet[], deleted: KeySet[] }} lists  `deleted`: those of `condemned` that are `final`
   * @param {{ before: number, after: number }} time
   */
  constructor (epochs, { condemned, deleted }, time) {
    this.epochs = epochs
    this.#condemned = condemned
    this.#deleted = deleted
    this.time = time
  }

  /** True if nobody may begin to rely on a key. @param {string} key */
  isCondemned (key) { return isInOne(this.#condemned, key) }

  /** True if no name relies on a key: it is deleted, or soon will be. @param {string} key */
  isDeleted (key) { return isInOne(this.#deleted, key) }
}

/** @param {KeySet[]} lists @param {string} key */
function isInOne (lists, key) {
  if (lists.length === 0) return false
  const name = nameIn(key)
  return lists.some(keys => keys.has(name))
}

export class Epochs {
  #bucket
  #run
  /** The lists of keys that were read, by key and ETag. A list is created once and never changes. */
  #lists = /** @type {Map<string, KeySet>} */ (new Map())
  /** The look that has begun last. */
  #underWay = /** @type {Promise<unknown>} */ (Promise.resolve())
  /** The look that begins when that one has ended. @type {Promise<Look> | undefined} */
  #next
  /** What was seen last. @type {Look | undefined} */
  last

  /**
   * @param {Bucket} bucket
   * @param {(work: (signal?: AbortSignal) => Promise<Look>) => Promise<Look>} [run]  runs a look. Several calls wait
   *   for it, so it does not end with one of them
   */
  constructor (bucket, run = work => work()) {
    this.#bucket = bucket
    this.#run = run
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
      const look = this.#run(signal => this.#look(signal))
      this.#underWay = look.catch(() => {})
      return look
    })
    return untilAborted(this.#next, signal)
  }

  /** @param {AbortSignal} [signal] @returns {Promise<Look>} */
  async #look (signal) {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const before = this.now
      const epochs = await this.#list(signal)
      const lists = await this.#condemnedIn(epochs, signal)
      if (lists !== undefined) return (this.last = new Look(epochs, lists, { before, after: this.now }))
    }
    throw bucketInvalid(`${this.#bucket.location}/gc/`, 'it lists objects that are not there')
  }

  /** @param {AbortSignal} [signal] @returns {Promise<Epoch[]>} */
  async #list (signal) {
    const epochs = /** @type {Map<string, Epoch>} */ (new Map())
    for await (const object of this.#bucket.list('gc/', '', { signal })) {
      const match = KEY.exec(object.key)
      if (match === null) continue
      const [, folder, number, name] = match
      const epoch = epochs.get(folder) ?? { folder, number: Number(number) }
      epoch[/** @type {'begin'} */ (name)] = object
      epochs.set(folder, epoch)
    }
    return [...epochs.values()]
  }

  /**
   * Reads the keys that are condemned: `final` of each epoch, or `dead` while there is no `final`. A folder without
   * `begin` condemns nothing. Either it was removed, and a late request has created one of its objects again. Or it is
   * new, and the list came to it before `begin` was created; then its collector looks at the tags after this list.
   *
   * @param {Epoch[]} epochs @param {AbortSignal} [signal]
   * @returns {Promise<{ condemned: KeySet[], deleted: KeySet[] } | undefined>} undefined if a list was removed since it
   *   was seen
   */
  async #condemnedIn (epochs, signal) {
    const begun = epochs.filter(({ begin }) => begin !== undefined)
    const objects = begun.flatMap(({ dead, final }) => final ?? dead ?? [])
    const nameOf = (/** @type {ListedObject} */ { key, etag }) => `${key} ${etag}`
    const keysIn = (/** @type {ListedObject} */ object) => /** @type {KeySet} */ (this.#lists.get(nameOf(object)))
    let isGone = false
    await forEachOf(objects, PARALLEL, async object => {
      if (object.etag !== undefined && this.#lists.has(nameOf(object))) return
      const keys = await readKeys(this.#bucket, object.key, signal)
      if (keys === undefined) isGone = true
      else this.#lists.set(nameOf(object), new KeySet(keys))
    })
    if (isGone) return undefined
    const names = new Set(objects.map(nameOf))
    for (const name of this.#lists.keys()) if (!names.has(name)) this.#lists.delete(name)
    return { condemned: objects.map(keysIn), deleted: begun.flatMap(({ final }) => final ? [keysIn(final)] : []) }
  }

  /**
   * Begins an epoch, in a folder that nobody else has. If there are many small epochs that are done, it merges them
   * before.
   *
   * @param {AbortSignal} [signal] @returns {Promise<OwnEpoch>}
   */
  async begin (signal) {
    const { epochs } = await this.look(signal)
    // Lists are in order. A process that does not see a merged folder any more must see the new one later in the list.
    const next = { number: (epochs.at(-1)?.number ?? 0) + 1, since: this.now }
    // Older folders are not merged: another process might remove one, and a writer might use its keys again, before
    // the new epoch condemns them. An epoch without keys may have been given up: while its `final` is there, a late
    // request cannot create one with keys.
    const small = epochs.filter(({ begin, final, done }) => done !== undefined && final !== undefined &&
      final.size > NO_KEYS_LEN && final.size <= MAX_MERGED_LEN &&
      next.since - (begin?.modified?.getTime() ?? 0) < EPOCH_MS)
    if (small.length >= MIN_MERGED) await this.#merge(small.slice(0, MAX_MERGED), next, signal)
    return this.#begin(next, signal)
  }

  /**
   * @param {{ number: number, since: number }} next  `since`: when `gc/` was looked at
   * @param {AbortSignal} [signal]
   */
  async #begin ({ number, since }, signal) {
    const id = base16.baseEncode(crypto.getRandomValues(new Uint8Array(EPOCH_ID_LEN)))
    const folder = `${versionKey('gc', number)}.${id}`
    await create(this.#bucket, `${folder}/begin`, new Uint8Array(0), signal)
    return new OwnEpoch(this.#bucket, { folder, since, signal, now: () => this.now })
  }

  /**
   * Makes one epoch of several, so that looks list and read less: the same keys are condemned, for as long again.
   *
   * @param {Epoch[]} epochs  that are done @param {{ number: number, since: number }} next
   * @param {AbortSignal} [signal]
   */
  async #merge (epochs, next, signal) {
    const lists = []
    const reading = inOrder(eachOf(epochs), () => PARALLEL - 1, ({ final }) =>
      readKeys(this.#bucket, /** @type {ListedObject} */ (final).key, signal))
    for await (const keys of reading) {
      if (keys === undefined) return // Somebody else merges them.
      lists.push(keys)
    }
    const merged = await this.#begin(next, signal)
    await merged.create('final', encodeKeys([...new Set(lists.flat())]))
    await merged.create('done')
    await forEachOf(epochs, PARALLEL, epoch => this.#remove(epoch, signal))
  }

  /** Removes a folder, `begin` first. @param {Epoch} epoch @param {AbortSignal} [signal] */
  async #remove ({ begin, dead, final, done }, signal) {
    for (const object of [begin, dead, final, done]) {
      if (object !== undefined) await this.#bucket.delete(object.key, { signal })
    }
  }

  /**
   * Returns an epoch whose keys another process has condemned, and whose deletion it has not finished. If that process
   * has stopped before `final`, this gives up the epoch, so that others can rely on its keys again.
   *
   * @param {Epoch} epoch @param {AbortSignal} [signal]
   * @returns {Promise<{ epoch: OwnEpoch, keys: string[] } | undefined>} undefined if there is nothing to finish
   */
  async unfinished ({ folder, begin, dead, final, done }, signal) {
    if (done !== undefined || begin?.modified === undefined) return undefined
    const since = begin.modified.getTime()
    const age = this.now - since
    if (age >= EPOCH_MS) return undefined
    const epoch = new OwnEpoch(this.#bucket, { folder, since, signal, now: () => this.now })
    if (final !== undefined) {
      const keys = await readKeys(this.#bucket, final.key, signal)
      return keys && { epoch, keys }
    }
    const isLeft = dead !== undefined && age >= GIVEN_UP_MS
    return isLeft && await epoch.giveUp() ? { epoch, keys: [] } : undefined
  }

  /**
   * Removes the folders of old epochs.
   *
   * @param {Epoch[]} epochs @param {number} maxAge  milliseconds @param {AbortSignal} [signal]
   */
  async removeOld (epochs, maxAge, signal) {
    for (const epoch of epochs) {
      // `begin` is missing if the folder was removed in part, or if a list came to it before it was created.
      const first = epoch.begin ?? epoch.dead ?? epoch.done ?? epoch.final
      const isOld = this.now - (first?.modified?.getTime() ?? Infinity) > maxAge
      if (isOld) await this.#remove(epoch, signal)
    }
  }
}

/** An epoch in which this process condemns or deletes keys. After a week, its calls throw. */
export class OwnEpoch {
  #bucket
  #folder
  #since
  #signal
  #now
  /** Its age when this process began to work for it, and when that was, by the clock of this machine. */
  #start

  /**
   * @param {Bucket} bucket
   * @param {{ folder: string, since: number, now: () => number, signal?: AbortSignal }} epoch  `since`: when it began,
   *   in milliseconds since 1970
   */
  constructor (bucket, { folder, since, now, signal }) {
    this.#bucket = bucket
    this.#folder = folder
    this.#since = since
    this.#now = now
    this.#signal = signal
    this.#start = { age: now() - since, at: Date.now() }
  }

  /**
   * @param {'dead' | 'final' | 'done'} name @param {Uint8Array} [body]
   * @throws {BaoError} STORE_CHANGED { location } if another process has created it
   */
  async create (name, body = new Uint8Array(0)) {
    // Another process may have finished the epoch.
    if (await this.#create(name, body, this.#signal) || name === 'done') return
    const location = `${this.#bucket.location}/${this.#folder}/${name}`
    throw new BaoError('STORE_CHANGED', `somebody else has created ${location}: collect again`, { location })
  }

  /**
   * Deletes nothing: creates `final` without keys, also after an abort.
   *
   * @returns {Promise<boolean>} false if there is another `final`
   */
  giveUp () { return this.#create('final', encodeKeys([])) }

  /** @param {string} name @param {Uint8Array} body @param {AbortSignal} [signal] @returns {Promise<boolean>} */
  async #create (name, body, signal) {
    this.assertNotOver()
    return (await create(this.#bucket, `${this.#folder}/${name}`, body, signal)).isWritten
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
