// Turns a store into an `interface-blockstore`: blocks under CIDs of any hash function, for Helia and its modules.
// Source: interface-blockstore 7.
//
// The names of a block are the multihashes under which it was put. The codec of a CID does not matter. Deleting one
// name leaves the others, and the bytes stay as long as the block has a name. A blob that was received, or put by a
// call of the store itself, has its BLAKE3 hash as a name.

import { CID } from 'multiformats/cid'
import { abortable, untilAborted } from '../../lib/source/async-util.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { assertInteger, describe } from '../../lib/core/bytes.js'
import { assertMany, untilSignal } from '../../lib/async/in-order.js'
import {
  BATCH_COUNT, BATCH_LEN, FILE_FROM, LOOKUP_COUNT, LOOKUP_LEN, assertStore, blockNotFound, damagedAlias
} from '../../store/interface.js'
import { BlockChecker } from './block-checker.js'
import { Name } from './block-name.js'

/** @import { MultihashHasher } from 'multiformats/hashes/interface' */
/** @import { BlobName } from '../../lib/hash/cid.js' */
/** @import { NamedSource } from '../../store/index.js' */
/** @import { Store } from '../../store/interface.js' */
/** @import { BlockBytes } from './block-checker.js' */

/**
 * @typedef {{ cid: CID, bytes: AsyncGenerator<Uint8Array<ArrayBuffer>> }} Pair  `bytes` reads the block only when the
 *   caller asks for it
 */
/** @typedef {{ cid: CID, bytes: BlockBytes }} InputPair */
/** @typedef {{ signal?: AbortSignal }} AbortOptions */
/** @typedef {{ cid: CID, source?: NamedSource }} CheckedBlock  without `source` if its CID contains the bytes */

/** Default of `maxBlockBytes`, 4 MiB. The blocks that peers send each other are shorter. */
export const MAX_BLOCK_LEN = 1 << 22

/**
 * @typedef {object} BlockstoreOptions
 * @property {MultihashHasher[]} [hashers]  hash functions in addition to BLAKE3, SHA2-256, SHA2-512 and identity
 * @property {number} [maxBlockBytes]  the maximum number of bytes of a block that is put under a CID of another hash
 *   function than BLAKE3. Such a block is gathered in memory to be hashed. Infinity for no limit. Default: 4 MiB. Reads
 *   are not limited
 */

/**
 * Returns the store as an `interface-blockstore`, which can be passed to Helia as its `blockstore`. The caller closes
 * the store.
 *
 * @param {Store} store
 * @param {BlockstoreOptions} [options]
 */
export function asBlockstore (store, options = {}) { return new Blockstore(store, options) }

class Blockstore {
  #store
  #checker

  /** @param {Store} store @param {BlockstoreOptions} options */
  constructor (store, options) {
    assertStore(store)
    assertKnownOptions(options, ['hashers', 'maxBlockBytes'])
    const { hashers = [], maxBlockBytes = MAX_BLOCK_LEN } = options
    if (maxBlockBytes !== Infinity) assertInteger('maxBlockBytes', maxBlockBytes)
    this.#checker = new BlockChecker(hashers, maxBlockBytes)
    this.#store = store
  }

  /**
   * @param {CID} cid @param {AbortOptions} [options]
   * @returns {Promise<boolean>} true if the store has the whole block under this name
   */
  async has (cid, { signal } = {}) {
    const name = new Name(cid)
    signal?.throwIfAborted()
    return name.isContent || await this.#find(name) !== undefined
  }

  /**
   * Keeps a block if it has the hash in the CID. If the hash is not BLAKE3, the block is first gathered in memory.
   *
   * @param {CID} cid @param {BlockBytes} bytes @param {AbortOptions} [options] @returns {Promise<CID>}
   * @throws {import('../../lib/core/errors.js').BaoError} CID_MISMATCH { cid }; CID_UNSUPPORTED { cid } for an unknown
   *   hash function; BLOCK_TOO_LONG { cid, len } for a block with more bytes than `maxBlockBytes`, unless its hash is
   *   BLAKE3
   */
  async put (cid, bytes, { signal } = {}) {
    const name = new Name(cid)
    assertBlock(bytes)
    signal?.throwIfAborted()
    if (name.isOwn) await this.#store.put(bytes, { expect: cid, alwaysRead: true, signal })
    else {
      const block = await this.#checker.gather(name, bytes, signal)
      if (!name.isContent) await this.#store.put(block, { alias: name.stored, signal })
    }
    return cid
  }

  /**
   * Keeps blocks as `put` does. Unless the store has a quota, small blocks are kept in batches. After a failure, only
   * the blocks before it are kept.
   *
   * @param {Iterable<InputPair> | AsyncIterable<InputPair>} pairs
   * @param {AbortOptions} [options]
   * @returns {AsyncGenerator<CID>} the CIDs in the same order, each when its block is kept
   * @throws {import('../../lib/core/errors.js').BaoError} the errors of `put`
   */
  putMany (pairs, { signal } = {}) {
    assertMany('pairs', pairs, '{ cid, bytes }')
    return this.#putMany(pairs, signal)
  }

  /**
   * @param {Iterable<InputPair> | AsyncIterable<InputPair>} pairs @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<CID>}
   */
  async * #putMany (pairs, signal) {
    let batch = /** @type {CheckedBlock[]} */ ([])
    let len = 0
    const keep = () => {
      const blocks = batch
      batch = []
      len = 0
      return this.#keep(blocks)
    }
    try {
      for await (const pair of withPauses(pairs, signal)) {
        if (pair === undefined || batch.length >= BATCH_COUNT || len >= BATCH_LEN) yield * keep()
        if (pair === undefined) continue
        const { cid, bytes } = pair
        const name = new Name(cid)
        assertBlock(bytes)
        signal?.throwIfAborted()
        if (name.isOwn && !isSmall(bytes)) {
          yield * keep()
          yield await this.put(cid, bytes, { signal })
          continue
        }
        const block = await this.#checker.gather(name, bytes, signal)
        const source = { source: block, ...name.isOwn ? { expect: cid } : { alias: name.stored } }
        batch.push({ cid, source: name.isContent ? undefined : source })
        len += block.length
      }
    } catch (error) {
      yield * keep()
      throw error
    }
    yield * keep()
  }

  /** @param {CheckedBlock[]} blocks @returns {AsyncGenerator<CID>} their CIDs, each when its block is kept */
  async * #keep (blocks) {
    const kept = this.#store.putMany(blocks.flatMap(({ source }) => source ?? []))
    try {
      for (const { cid, source } of blocks) {
        if (source !== undefined) await kept.next()
        yield cid
      }
    } finally {
      await kept.return(undefined)
    }
  }

  /**
   * @param {CID} cid @param {AbortOptions} [options]
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} fresh pieces, each verified before it is yielded
   * @throws {import('../../lib/core/errors.js').BaoError} STORE_NOT_FOUND { cid } (whose `name` is `NotFoundError`),
   *   STORE_CORRUPT { cid }
   */
  get (cid, { signal } = {}) { return this.#get(new Name(cid), signal) }

  /** @param {Name} name @param {AbortSignal} [signal] @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} */
  async * #get (name, signal) {
    const { cid } = name
    signal?.throwIfAborted()
    const found = await this.#find(name)
    if (name.isContent) yield new Uint8Array(name.digest)
    else if (found === undefined) throw blockNotFound(cid)
    else yield * this.#read(name, found, signal)
  }

  /**
   * @param {Name} name @param {BlobName} cid  of the blob @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  async * #read (name, cid, signal) {
    try {
      if (name.isOwn || !this.#store.verifies) yield * this.#store.get(cid, undefined, { signal })
      else yield await this.#byAlias(name, cid, signal)
    } catch (error) {
      // The block was deleted during the read, or the file of a reference is missing.
      const isGone = isCode(error, 'STORE_NOT_FOUND') || isCode(error, 'STORE_MISSING')
      throw isGone ? blockNotFound(name.cid, error) : error
    }
  }

  /**
   * Yields blocks in the order of the CIDs. Small blocks are read in batches. If a block is missing, the error is
   * thrown when the caller reads its bytes.
   *
   * @param {Iterable<CID> | AsyncIterable<CID>} cids @param {AbortOptions} [options]
   * @returns {AsyncGenerator<Pair>}
   */
  getMany (cids, options = {}) {
    assertMany('cids', cids, 'CIDs')
    return this.#getMany(cids, options)
  }

  /**
   * @param {Iterable<CID> | AsyncIterable<CID>} cids @param {AbortOptions} options
   * @returns {AsyncGenerator<Pair>}
   */
  async * #getMany (cids, options) {
    let batch = /** @type {CID[]} */ ([])
    const take = () => {
      const taken = batch
      batch = []
      return this.#pairs(taken, options)
    }
    try {
      for await (const cid of withPauses(cids, options.signal)) {
        if (cid !== undefined) batch.push(cid)
        if (cid === undefined || batch.length === LOOKUP_COUNT) yield * take()
      }
    } catch (error) {
      yield * take()
      throw error
    }
    yield * take()
  }

  /**
   * Yields all blocks of the store, each once for each of its names. The names are CIDs of raw bytes. If all blobs of
   * the store have a name of their own, that of a blob with aliases is left out: it may not have been put under it.
   *
   * @param {AbortOptions} [options] @returns {AsyncGenerator<Pair>}
   */
  async * getAll (options) {
    const { aliases, hasOwnNames } = this.#store
    const aliased = /** @type {Set<string>} */ (new Set())
    for await (const { cid, alias } of untilSignal(aliases.list(), options?.signal)) {
      if (hasOwnNames) aliased.add(`${cid}`)
      if (await this.#store.has(cid)) yield { cid: alias, bytes: this.#read(new Name(alias), cid, options?.signal) }
    }
    for await (const { cid, complete, isAliasOnly } of untilSignal(this.#store.list(), options?.signal)) {
      if (!complete || isAliasOnly || aliased.has(`${cid}`)) continue
      yield { cid, bytes: this.#read(new Name(cid), cid, options?.signal) }
    }
  }

  /** Deletes this name of a block. @param {CID} cid @param {AbortOptions} [options] @returns {Promise<void>} */
  async delete (cid, { signal } = {}) {
    const name = new Name(cid)
    signal?.throwIfAborted()
    if (name.isStorable) await this.#store.aliases.delete(name.stored)
  }

  /**
   * @param {Iterable<CID> | AsyncIterable<CID>} cids @param {AbortOptions} [options]
   * @returns {AsyncGenerator<CID>} the CIDs, each when its name is deleted
   */
  deleteMany (cids, options) {
    assertMany('cids', cids, 'CIDs')
    return this.#deleteMany(cids, options)
  }

  /**
   * @param {Iterable<CID> | AsyncIterable<CID>} cids @param {AbortOptions} [options]
   * @returns {AsyncGenerator<CID>}
   */
  async * #deleteMany (cids, options) {
    for await (const cid of options?.signal === undefined ? cids : abortable(cids, options.signal)) {
      await this.delete(cid, options)
      yield cid
    }
  }

  /** @param {CID[]} cids @param {AbortOptions} options @returns {AsyncGenerator<Pair>} */
  async * #pairs (cids, options) {
    if (cids.length === 0) return
    const names = cids.map(cid => CID.asCID(cid) === null ? undefined : new Name(cid))
    const found = await untilAborted(this.#readSmall(names.flatMap(name => name ?? [])), options.signal)
    for (const [i, cid] of cids.entries()) {
      options.signal?.throwIfAborted()
      const name = names[i]
      const bytes = name && found.get(name)
      yield { cid, bytes: name && bytes ? this.#checked(name, bytes, options) : this.#later(cid, options) }
    }
  }

  /**
   * Reads the small blocks among some names together, unverified. Leaves out long blocks, and blocks that cannot be
   * read: reading one of those alone throws the error.
   *
   * @param {Name[]} names  at most LOOKUP_COUNT
   */
  async #readSmall (names) {
    const bytesOf = /** @type {Map<Name, Uint8Array<ArrayBuffer>>} */ (new Map())
    const wanted = names.filter(({ isStorable }) => isStorable)
    const cids = await this.#store.aliases.resolveMany(wanted.map(({ stored }) => stored))
    const held = wanted.filter((_, i) => cids[i] !== undefined)
    const found = this.#store.getMany(cids.flatMap(cid => cid ?? []), { verify: false, maxBytes: LOOKUP_LEN })
    let at = 0
    for await (const { bytes } of found) {
      const name = held[at++]
      if (bytes !== undefined) bytesOf.set(name, bytes)
    }
    return bytesOf
  }

  /**
   * Does what `get` does, but checks the CID only when the caller reads the bytes.
   *
   * @param {CID} cid @param {AbortOptions} options @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  async * #later (cid, options) { yield * this.get(cid, options) }

  /**
   * @param {Name} name @param {Uint8Array<ArrayBuffer>} bytes @param {AbortOptions} options
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  async * #checked (name, bytes, options) {
    options.signal?.throwIfAborted()
    if (await this.#checker.isNamed(name, bytes)) yield bytes
    else yield * this.get(name.cid, options) // its error says what is damaged
  }

  /**
   * Finds the blob of a block, if the store has the whole block under this name.
   *
   * @param {Name} name @returns {Promise<BlobName | undefined>}
   */
  async #find (name) {
    if (!name.isStorable) return undefined
    const blob = name.isOwn ? name.digest : await this.#store.aliases.resolve(name.stored)
    if (blob === undefined) return undefined
    const [stat] = await this.#store.statMany([blob])
    if (stat === undefined) return await this.#store.has(blob) ? blob : undefined // throws for a damaged record
    return stat.complete && !(name.isOwn && stat.isAliasOnly) ? blob : undefined
  }

  /**
   * Reads a block by an alias. It hashes the bytes with the function of the alias before it returns them, because the
   * alias may be damaged.
   *
   * @param {Name} name @param {BlobName} cid  of the blob @param {AbortSignal} [signal]
   */
  async #byAlias (name, cid, signal) {
    const block = await this.#store.bytes(cid, undefined, { verify: false, signal }).catch(error => {
      if (!isCode(error, 'STORE_CORRUPT')) throw error
    })
    if (block !== undefined && await this.#checker.isNamed(name, block)) return block
    // The error of this read says what is damaged.
    const verified = await this.#store.bytes(cid, undefined, { verify: true, signal })
    if (!await this.#checker.isNamed(name, verified)) throw damagedAlias(name.cid)
    return verified
  }
}

/** True if a block is in memory, and is kept in a batch with others. @param {BlockBytes} bytes */
const isSmall = bytes => bytes instanceof Uint8Array && bytes.length <= FILE_FROM

/** @param {unknown} bytes */
function assertBlock (bytes) {
  if (typeof bytes === 'object' && bytes !== null && (Symbol.asyncIterator in bytes || Symbol.iterator in bytes)) return
  throw new TypeError(`"bytes" expected a Uint8Array or an iterable of them, got ${describe(bytes)}`)
}

/** @param {unknown} error @param {string} code */
const isCode = (error, code) => error instanceof Error && 'code' in error && error.code === code

/** How many milliseconds a batch waits for the next item. */
const SOON = 5

/**
 * Yields the items of a source, and `undefined` when the next item takes longer than SOON. Then the caller finishes its
 * current batch, because the source may be waiting for a result of this batch before it yields the next item.
 *
 * @template T
 * @param {Iterable<T> | AsyncIterable<T>} source
 * @param {AbortSignal} [signal]  ends the iteration
 * @returns {AsyncGenerator<T | undefined>}
 */
const withPauses = (source, signal) =>
  abortable(/** @type {AsyncIterable<T | undefined>} */ (source), signal, isSoon)

/** @param {Promise<unknown>} promise */
async function isSoon (promise) {
  let timer
  const late = new Promise(resolve => { timer = setTimeout(resolve, SOON, false) })
  try {
    return await Promise.race([promise.then(() => true, () => true), late])
  } finally {
    clearTimeout(timer)
  }
}
