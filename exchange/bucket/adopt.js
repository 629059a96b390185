// Makes blobs of objects that are in a bucket already: reads each of them once, and writes its outboard and a reference
// beside it. Nothing is copied.

import { base16 } from 'multiformats/bases/base16'
import { DEFAULT_GROUP_LOG } from '../../lib/core/constants.js'
import { assertMany, inOrder } from '../../lib/async/in-order.js'
import { BaoError, fetchChanged } from '../../lib/core/errors.js'
import { assertInteger } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { toCid } from '../../lib/hash/cid.js'
import { modeOf } from '../../lib/hash/mode-options.js'
import { TreeBuilder } from '../../lib/hash/tree-builder.js'
import { PairWriter } from '../../lib/outboard/pair-writer.js'
import { eitherOf, withYields } from '../../lib/source/async-util.js'
import { outboardLen } from '../../lib/tree/geometry.js'
import { assertBucket } from './bucket.js'
import { bucketInvalid } from './errors.js'
import { fullKey, startOfKeys } from './keys.js'
import { isOwnKey, newId, noteKey, outboardKey, referenceKey } from './layout.js'
import { OutboardSpool } from './outboard-spool.js'
import { writeRecord } from './record.js'
import { isUsableEtag, isUsableKey, readNote, readReference, unlessInvalid } from './reference.js'
import { EPOCH_MS, Epochs } from './store/epochs.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Many } from '../../lib/async/in-order.js' */
/** @import { ProgressOptions } from '../../lib/core/types.js' */
/** @import { Bucket } from './bucket.js' */
/** @import { SpoolSizes } from './outboard-spool.js' */
/** @import { Note, Reference } from './reference.js' */
/** @import { Look } from './store/epochs.js' */

/**
 * @typedef {object} AdoptParts
 * @property {string} [prefix]  adopts the objects whose keys begin like this, except those of baobox; default: all
 * @property {Many<string>} [keys]  adopts the objects with these keys, instead of those with a prefix
 * @property {boolean} [recheck]  true to read also the objects that were adopted before; default: false
 * @property {number} [parallel]  how many objects are read at the same time; default: 4
 */
/** @typedef {AdoptParts & ProgressOptions} AdoptOptions  `onProgress` gets `baobox:adopt`, in bytes read */
/**
 * @typedef {object} AdoptedObject
 * @property {string} key
 * @property {number} size  bytes
 * @property {CID} cid  if `isNew` is false: as the bucket says it
 * @property {boolean} isNew  false if the object was adopted before and has not changed since
 */
/** @typedef {{ key: string, error: BaoError }} LeftObject  an object that was not adopted, and why */

const OPTIONS = ['prefix', 'keys', 'recheck', 'parallel', 'signal', 'onProgress']
/** How many objects are read at the same time. */
const PARALLEL = 4
/** Errors of one object, for which the others are adopted all the same. */
const OF_OBJECT = ['FETCH_CHANGED', 'STORE_NOT_FOUND', 'BUCKET_INVALID', 'BUCKET_REFUSED']

/**
 * Makes blobs of objects that are in a bucket already, so that `bucketMirror` gives them. Each object is read once; its
 * outboard is written under the key that it would have beside a blob, and then a reference. The object stays where it
 * is. An object that changes later is no longer given: the error of `bucketMirror` is then `FETCH_CHANGED`.
 *
 *     for await (const { key, cid, error } of adopt(bucket, { prefix: 'videos/' })) console.log(key, error ?? cid)
 *
 * Yields a result for each object, in the order of their keys, when its reference is written. A call that was
 * interrupted is made again: objects whose references are right are not read again. Objects that cannot be adopted are
 * yielded with the error: `FETCH_CHANGED` if the object changed while it was read, `STORE_NOT_FOUND` if it is not
 * there, `BUCKET_REFUSED`, or `BUCKET_INVALID`, if it has no ETag, a key that cannot be used, or a Content-Encoding;
 * `STORE_CONDEMNED` if another process was deleting its blob.
 * Folder markers, which are empty objects with a slash at the end of the key, are passed over.
 *
 * Of each object that is read at the same time, up to 16 MiB of the outboard are in memory.
 *
 * @param {Bucket} bucket
 * @param {AdoptOptions} [options]
 * @returns {AsyncGenerator<AdoptedObject & { error?: undefined } | LeftObject & {
 *   size?: undefined, cid?: undefined, isNew?: undefined }>}
 * @throws {BaoError} errors of the bucket, other than those of one object
 */
export function adopt (bucket, options) { return adoptInBucket(bucket, options) }

/**
 * The same, with what only tests choose.
 *
 * @param {Bucket} bucket @param {AdoptOptions} [options] @param {SpoolSizes} [inTests]
 * @returns {ReturnType<typeof adopt>}
 */
export function adoptInBucket (bucket, options = {}, inTests) {
  assertBucket(bucket)
  assertKnownOptions(options, OPTIONS)
  const { prefix, keys, recheck = false, parallel = PARALLEL, signal, onProgress } = options
  if (prefix !== undefined && keys !== undefined) throw new TypeError('"prefix" and "keys" exclude each other')
  startOfKeys('prefix', prefix)
  if (keys !== undefined) assertMany('keys', keys, 'keys')
  assertInteger('parallel', parallel, 1)
  const ended = new AbortController()
  const either = eitherOf(signal, ended.signal)
  const objects = keys === undefined ? listed(bucket, prefix, either) : named(keys, either)
  let done = 0
  const onBytes = (/** @type {number} */ len) => {
    done += len
    onProgress?.({ type: 'baobox:adopt', detail: { done, unit: 'bytes' } })
  }
  // Each object and look has a signal of its own: Node.js warns of a signal to which many requests listen.
  const ownSignal = () => eitherOf(either, new AbortController().signal)
  const epochs = new Epochs(bucket, work => work(ownSignal()))
  const adoptOne = (/** @type {Candidate} */ object) =>
    new Adoption(bucket, { epochs, recheck, signal: ownSignal(), onBytes, inTests }).adopt(object)
  return results(objects, adoptOne, { parallel, ended, signal: either })
}

/** @typedef {{ key: string, size?: number, etag?: string }} Candidate */

/** @param {Bucket} bucket @param {string | undefined} prefix @param {AbortSignal} signal */
async function * listed (bucket, prefix, signal) {
  for await (const object of bucket.list(prefix, '', { signal })) {
    const isMarker = object.size === 0 && object.key.endsWith('/')
    if (!isMarker && !isOwnKey(object.key)) yield /** @type {Candidate} */ (object)
  }
}

/** @param {Many<string>} keys @param {AbortSignal} signal @returns {AsyncGenerator<Candidate>} */
async function * named (keys, signal) {
  for await (const key of keys) {
    signal.throwIfAborted()
    fullKey(key)
    yield { key }
  }
}

/**
 * Ends all work when the caller stops reading, or when an object fails for a reason that concerns the others, too.
 *
 * @param {AsyncIterable<Candidate>} objects @param {(object: Candidate) => ReturnType<Adoption['adopt']>} adoptOne
 * @param {{ parallel: number, ended: AbortController, signal: AbortSignal }} options
 * @returns {ReturnType<typeof adopt>}
 */
async function * results (objects, adoptOne, { parallel, ended, signal }) {
  const begin = async (/** @type {Candidate} */ object) => {
    try {
      return await adoptOne(object)
    } catch (error) {
      ended.abort(error)
      throw error
    }
  }
  signal.throwIfAborted()
  for await (const result of inOrder(objects, () => parallel - 1, begin)) {
    let isRead = false
    try {
      yield result
      isRead = true
    } finally {
      if (!isRead) ended.abort()
    }
  }
}

/** Adopts one object. */
class Adoption {
  #bucket
  #epochs
  #recheck
  #signal
  #onBytes
  #inTests

  /**
   * @param {Bucket} bucket
   * @param {{
   *   epochs: Epochs, recheck: boolean, signal: AbortSignal, onBytes: (len: number) => void, inTests?: SpoolSizes
   * }} options
   */
  constructor (bucket, { epochs, recheck, signal, onBytes, inTests }) {
    this.#bucket = bucket
    this.#epochs = epochs
    this.#recheck = recheck
    this.#signal = signal
    this.#onBytes = onBytes
    this.#inTests = inTests
  }

  /** @param {Candidate} candidate */
  async adopt (candidate) {
    const { key } = candidate
    const object = await this.#ofObject(this.#versionOf(candidate))
    if (object instanceof BaoError) return { key, error: object }
    const { size } = object
    const known = this.#recheck ? undefined : await this.#findKnown(object)
    if (known !== undefined) return { key, size, cid: toCid(base16.baseDecode(known)), isNew: false }
    const spool = new OutboardSpool(this.#bucket, { key, len: outboardLen(size), signal: this.#signal }, this.#inTests)
    try {
      const root = await this.#ofObject(this.#hash(object, spool))
      if (spool.failure !== undefined) throw spool.failure
      if (root instanceof BaoError) return { key, error: root }
      const error = await this.#write(object, base16.baseEncode(root), spool)
      return error === undefined ? { key, size, cid: toCid(root), isNew: true } : { key, error }
    } finally {
      await spool.close()
    }
  }

  /**
   * Waits for what is done with the object alone.
   *
   * @template T @param {Promise<T>} work @returns {Promise<T | BaoError>} an error, if it concerns only this object
   */
  #ofObject (work) {
    return work.catch(error => {
      if (error instanceof BaoError && OF_OBJECT.includes(error.code)) return error
      throw error
    })
  }

  /**
   * Finds out which version of an object is there, if the list has not said it.
   *
   * @param {Candidate} candidate @returns {Promise<Reference>}
   */
  async #versionOf ({ key, ...version }) {
    const location = this.#locationOf(key)
    if (!isUsableKey(key)) throw bucketInvalid(location, 'objects with such keys cannot be adopted')
    const isKnown = version.etag !== undefined && version.size !== undefined
    const info = isKnown ? version : await this.#bucket.head(key, { signal: this.#signal })
    if (info === undefined) throw this.#notFound(key)
    const { etag, size } = info
    if (!isUsableEtag(etag)) throw bucketInvalid(location, 'it says no ETag that can be compared')
    return { key, etag, size: /** @type {number} */ (size) }
  }

  /**
   * Looks whether an object was adopted in this version.
   *
   * @param {Reference} object @returns {Promise<string | undefined>} its hash, as the bucket says it
   */
  async #findKnown (object) {
    const note = await unlessInvalid(readNote(this.#bucket, noteKey(object.key), this.#signal))
    if (note === undefined || !areSame(note, object)) return undefined
    const look = this.#epochs.last ?? await this.#epochs.look(this.#signal)
    if (!isFree(look, note)) return undefined
    const [isReferred, hasOutboard] = await Promise.all([this.#isReferred(note, object), this.#hasOutboard(note)])
    return isReferred && hasOutboard ? note.hash : undefined
  }

  /** True if a blob has a reference to this object or to an equal one. @param {Note} note @param {Reference} object */
  async #isReferred ({ hash, id }, object) {
    const reference = await unlessInvalid(readReference(this.#bucket, referenceKey(hash, id), this.#signal))
    if (reference === undefined || reference.size !== object.size) return false
    if (reference.key === object.key) return reference.etag === object.etag
    const other = await this.#bucket.head(reference.key, { signal: this.#signal })
    return other !== undefined && other.etag === reference.etag && other.size === reference.size
  }

  /** @param {Note} note */
  async #hasOutboard ({ hash, id, size }) {
    const len = outboardLen(size)
    return len === 0 || (await this.#bucket.head(outboardKey(hash, id), { signal: this.#signal }))?.size === len
  }

  /**
   * Reads an object, and passes its pairs on.
   *
   * @param {Reference} object @param {OutboardSpool} spool
   * @returns {Promise<Uint8Array>} the hash
   */
  async #hash ({ key, etag, size }, spool) {
    const signal = this.#signal
    const object = await this.#bucket.get(key, undefined, { ifMatch: etag, signal })
    if (object === undefined) throw this.#notFound(key)
    if (object.size !== size) {
      await object.body.return(undefined)
      throw fetchChanged(this.#locationOf(key))
    }
    const writer = new PairWriter(spool, { groupLog: DEFAULT_GROUP_LOG, order: 'pre', header: false, signal })
    writer.begin(size)
    const tree = new TreeBuilder(modeOf(), { sink: writer })
    for await (const piece of withYields(object.body, signal)) {
      tree.update(piece)
      await writer.flush()
      this.#onBytes(piece.length)
    }
    const root = tree.hash()
    if (tree.size !== size) throw bucketInvalid(this.#locationOf(key), `it gives ${tree.size} of ${size} bytes`)
    await writer.finish(size)
    const now = await this.#bucket.head(key, { signal })
    if (now === undefined) throw this.#notFound(key)
    if (now.etag !== etag || now.size !== size) throw fetchChanged(this.#locationOf(key))
    return root
  }

  /**
   * Writes what makes the object a blob: the reference comes last but for the note, which only spares reading it again.
   * Keys that a store has condemned are not used: docs/decisions/0046.
   *
   * @param {Reference} object @param {string} hash @param {OutboardSpool} spool
   * @returns {Promise<BaoError | undefined>} STORE_CONDEMNED { cid } if a store is deleting the blob
   */
  async #write (object, hash, spool) {
    const signal = this.#signal
    const before = await this.#epochs.look(signal)
    const id = isFree(before, { hash, id: '' }) ? '' : newId()
    if (outboardLen(object.size) > 0) await spool.copyTo(outboardKey(hash, id))
    // Of several equal objects, the reference is to the one that was read last: nothing else is known to be right.
    await writeRecord(this.#bucket, referenceKey(hash, id), object, signal)
    const after = await this.#epochs.look(signal)
    if (!isFree(after, { hash, id }) || after.time.after - before.time.before >= EPOCH_MS) {
      const cid = toCid(base16.baseDecode(hash))
      const location = this.#locationOf(object.key)
      const text = `the blob of ${location} is being deleted: adopt it again`
      return new BaoError('STORE_CONDEMNED', text, { cid, location })
    }
    await writeRecord(this.#bucket, noteKey(object.key), { ...object, hash, ...id !== '' && { id } }, signal)
  }

  /** @param {string} key */
  #locationOf (key) { return `${this.#bucket.location}/${key}` }

  /** @param {string} key */
  #notFound (key) {
    const location = this.#locationOf(key)
    return new BaoError('STORE_NOT_FOUND', `there is no object ${location}`, { location })
  }
}

/**
 * True if nobody has condemned the reference of a blob or its outboard.
 *
 * @param {Look} look @param {{ hash: string, id: string }} blob
 */
const isFree = (look, { hash, id }) =>
  !look.isCondemned(referenceKey(hash, id)) && !look.isCondemned(outboardKey(hash, id))

/** @param {Reference} a @param {Reference} b */
const areSame = (a, b) => a.key === b.key && a.etag === b.etag && a.size === b.size
