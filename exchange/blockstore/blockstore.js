// Makes a store an `interface-blockstore`: blocks under CIDs of any hash function, for Helia and its modules.
// Source: interface-blockstore 7.
//
// The names of a block are the multihashes under which it was put, whatever the codec. Deleting one name leaves the
// others, and the bytes stay as long as the block has a name. A blob that was put into the store itself, or received,
// has its BLAKE3 hash as a name.

import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { RAW, toCid } from '../../lib/hash/cid.js'
import { abortable, untilAborted } from '../../lib/source/async-util.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { assertInteger, describe } from '../../lib/core/bytes.js'
import { assertMany } from '../../lib/async/in-order.js'
import { blockNotFound, damagedAlias } from '../../store/storage/errors.js'
import { BlockBatch, unhurried } from './block-batch.js'
import { BlockChecker } from './block-checker.js'
import { LOOKUP_COUNT } from '../../store/read/get-many.js'
import { Name, lookUp } from './block-name.js'
import { FILE_FROM } from '../../store/write/blob-builder.js'
import { nameOf } from '../../lib/hash/roots.js'
import { contextOf } from '../../store/context-of.js'

/** @import { MultihashHasher } from 'multiformats/hashes/interface' */
/** @import { BlobStore } from '../../store/blob-store.js' */
/** @import { BlockBytes } from './block-checker.js' */
/** @import { HeldBlock } from './block-name.js' */

/**
 * @typedef {{ cid: CID, bytes: AsyncGenerator<Uint8Array<ArrayBuffer>> }} Pair  the bytes are read only when the caller
 *   asks for them
 */
/** @typedef {{ cid: CID, bytes: BlockBytes }} InputPair */
/** @typedef {{ signal?: AbortSignal }} AbortOptions */

/** Longest block that must be hashed by another function, in bytes. Peers send each other shorter blocks. */
export const MAX_BLOCK_LEN = 1 << 22

/**
 * @typedef {object} BlockstoreOptions
 * @property {MultihashHasher[]} [hashers]  hash functions in addition to BLAKE3, SHA2-256, SHA2-512 and identity
 * @property {number} [maxBlockLen]  most bytes of a block that is put under a CID of another function than BLAKE3: it
 *   is gathered in memory to be hashed. Infinity for no limit. Default: 4 MiB. Stored blocks can be read however long
 *   they are
 */

/**
 * Returns the store as an `interface-blockstore`: give it to Helia as its `blockstore`. The caller closes the store.
 *
 * @param {BlobStore} store
 * @param {BlockstoreOptions} [options]
 */
export const asBlockstore = (store, options = {}) => new Blockstore(store, options)

class Blockstore {
  #store
  #context
  #checker

  /** @param {BlobStore} store @param {BlockstoreOptions} options */
  constructor (store, options) {
    assertKnownOptions(options, ['hashers', 'maxBlockLen'])
    const { hashers = [], maxBlockLen = MAX_BLOCK_LEN } = options
    if (maxBlockLen !== Infinity) assertInteger('maxBlockLen', maxBlockLen)
    this.#checker = new BlockChecker(hashers, maxBlockLen)
    this.#store = store
    this.#context = contextOf(store)
  }

  /**
   * @param {CID} cid @param {AbortOptions} [options]
   * @returns {Promise<boolean>} does the store have the whole block, under this name?
   */
  async has (cid, { signal } = {}) {
    const name = new Name(cid)
    signal?.throwIfAborted()
    return name.isContent || await this.#rootOf(name) !== undefined
  }

  /**
   * Keeps a block, if the CID names it. For other functions than BLAKE3 the block is first gathered in memory.
   *
   * @param {CID} cid @param {BlockBytes} bytes @param {AbortOptions} [options] @returns {Promise<CID>}
   * @throws {import('../../lib/core/errors.js').BaoError} CID_MISMATCH { cid }; CID_UNSUPPORTED { cid } for an
   *   unknown hash function; BLOCK_TOO_LONG { cid, len } for a block under a CID of another function than BLAKE3 that
   *   has more bytes than `maxBlockLen`
   */
  async put (cid, bytes, { signal } = {}) {
    const name = new Name(cid)
    assertBlock(bytes)
    signal?.throwIfAborted()
    if (name.isOwn) await this.#write(bytes, signal, { cid })
    else {
      const block = await this.#checker.gather(name, bytes, signal)
      if (!name.isContent) await this.#write(block, signal, { alias: name.multihash })
    }
    return cid
  }

  /**
   * Keeps blocks as `put` does; small ones are kept in batches, unless there is a quota. After a failure, the blocks
   * before it are kept, and those after it are not.
   *
   * @param {Iterable<InputPair> | AsyncIterable<InputPair>} pairs
   * @param {AbortOptions} [options]
   * @returns {AsyncGenerator<CID>} the CIDs in the same order, each when its block is kept
   * @throws {import('../../lib/core/errors.js').BaoError} as `put`
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
    const batch = new BlockBatch()
    const { life, manyWriter } = this.#context
    const keep = () => batch.keep((blocks, aliases) => life.run(() => manyWriter.keep(blocks, { aliases })))
    try {
      for await (const pair of unhurried(pairs, signal)) {
        if (batch.isFull || pair === undefined) yield * await keep()
        if (pair === undefined) continue
        const { cid, bytes } = pair
        const name = new Name(cid)
        assertBlock(bytes)
        signal?.throwIfAborted()
        const isStreamed = name.isOwn && !this.#isForBatch(bytes)
        const block = isStreamed ? undefined : await this.#checker.gather(name, bytes, signal)
        if (name.isContent) batch.add(cid)
        else if (block !== undefined && this.#isForBatch(block)) {
          batch.add(cid, { bytes: block, alias: name.isOwn ? undefined : name.multihash })
        } else {
          yield * await keep()
          await this.#write(block ?? bytes, signal, name.isOwn ? { cid } : { alias: name.multihash })
          yield cid
        }
      }
    } catch (error) {
      yield * await keep()
      throw error
    }
    yield * await keep()
  }

  /**
   * @param {CID} cid @param {AbortOptions} [options]
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} fresh pieces, each of which is verified first
   * @throws {import('../../lib/core/errors.js').BaoError} STORE_NOT_FOUND { cid } (its name is `NotFoundError`),
   *   STORE_CORRUPT { cid }
   */
  get (cid, { signal } = {}) { return this.#get(new Name(cid), signal) }

  /** @param {Name} name @param {AbortSignal} [signal] @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} */
  async * #get (name, signal) {
    const { cid } = name
    signal?.throwIfAborted()
    const root = name.isContent ? undefined : await this.#rootOf(name)
    if (name.isContent) yield new Uint8Array(name.digest)
    else if (root === undefined) throw blockNotFound(cid)
    else {
      try {
        const isTrusted = name.isOwn || !this.#context.verifies
        yield * isTrusted ? this.#store.get(root, { signal }) : this.#byAlias(name, root, signal)
      } catch (error) {
        // The block was deleted meanwhile, or the file of a reference is gone.
        throw isCode(error, 'STORE_NOT_FOUND') || isCode(error, 'STORE_MISSING') ? blockNotFound(cid, error) : error
      }
    }
  }

  /**
   * Gives blocks in the order in which the caller asks for them. Small ones are read in batches. Missing ones fail when
   * the caller asks for their bytes.
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
      for await (const cid of unhurried(cids, options.signal)) {
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
   * Gives all blocks of the store under all their names, as CIDs of raw bytes.
   *
   * @param {AbortOptions} [options] @returns {AsyncGenerator<Pair>}
   */
  async * getAll (options) {
    const names = this.#context.life.each(() => this.#names(options?.signal))
    for await (const cid of names) yield { cid, bytes: this.get(cid, options) }
  }

  /** Deletes this name of a block. @param {CID} cid @param {AbortOptions} [options] @returns {Promise<void>} */
  async delete (cid, { signal } = {}) {
    const name = new Name(cid)
    signal?.throwIfAborted()
    const { aliases, catalog, databases, locks, life, tags } = this.#context
    if (name.isContent) return
    await life.run(async () => {
      databases.assertWritable()
      const root = name.isOwn ? name.digest : await aliases.rootOf(name.multihash)
      if (root === undefined) return
      await locks.run(nameOf(root), async () => {
        const { isTagged } = await tags.tagOf(root)
        if (name.isOwn) return catalog.removeOwnName(root, { isTagged })
        const isTaggedItself = await tags.namesAlias(name.multihash)
        await catalog.removeAlias(root, name.multihash, { isTagged, isTaggedItself })
      })
    })
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
    const found = await untilAborted(this.#context.life.run(() => lookUp(this.#context, cids)), options.signal)
    for (const [i, cid] of cids.entries()) {
      options.signal?.throwIfAborted()
      const block = found[i]
      yield { cid, bytes: block === undefined ? this.#later(cid, options) : this.#held(block, options) }
    }
  }

  /**
   * As `get`, but for a caller who may never ask for the bytes: then nothing is wrong with the CID.
   *
   * @param {CID} cid @param {AbortOptions} options @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  async * #later (cid, options) { yield * this.get(cid, options) }

  /** @param {HeldBlock} block @param {AbortOptions} options @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} */
  async * #held ({ name, root, bytes }, options) {
    options.signal?.throwIfAborted()
    if (await this.#checker.isNamed(name, bytes)) {
      this.#context.uses.touch(root)
      yield this.#context.databases.owned(bytes)
    } else yield * this.get(name.cid, options) // This also says what is damaged.
  }

  /**
   * Returns the root of a block, if the store has the whole block under this name.
   *
   * @param {Name} name
   * @returns {Promise<Uint8Array | undefined>}
   */
  #rootOf (name) {
    const { aliases, catalog, life } = this.#context
    return life.run(async () => {
      const root = name.isOwn ? name.digest : await aliases.rootOf(name.multihash)
      const record = root && await catalog.get(root)
      return record?.complete && !(name.isOwn && record.isNameless) ? root : undefined
    })
  }

  /** Gives the names of all blocks. @param {AbortSignal} [signal] @returns {AsyncGenerator<CID>} */
  async * #names (signal) {
    const { aliases, catalog } = this.#context
    signal?.throwIfAborted()
    for await (const { multihash, root } of aliases.all()) {
      const digest = digestIn(multihash)
      if (digest && (await catalog.find(root)).record?.complete) yield CID.createV1(RAW, digest)
      signal?.throwIfAborted()
    }
    for await (const { root, record } of catalog.records()) {
      if (record.complete && !record.isNameless) yield toCid(root)
      signal?.throwIfAborted()
    }
  }

  /**
   * Reads a block by an alias. It hashes the bytes with the function of the alias before it gives them, because the
   * alias may be damaged.
   *
   * @param {Name} name @param {Uint8Array} root @param {AbortSignal} [signal]
   */
  async * #byAlias (name, root, signal) {
    const block = await this.#store.bytes(root, { verify: false, signal }).catch(error => {
      if (!isCode(error, 'STORE_CORRUPT')) throw error
    })
    if (block !== undefined && await this.#checker.isNamed(name, block)) yield block
    else {
      const verified = await this.#store.bytes(root, { verify: true, signal }) // This also says what is damaged.
      if (!await this.#checker.isNamed(name, verified)) throw damagedAlias(name.cid)
      yield verified
    }
  }

  /**
   * Is a block small enough for a batch? Under a quota none is, because there may be space for only a part of a batch.
   *
   * @param {BlockBytes} bytes  the bytes of the block, or their source
   */
  #isForBatch (bytes) {
    return bytes instanceof Uint8Array && bytes.length <= FILE_FROM && !this.#context.quota.isLimited
  }

  /**
   * @param {BlockBytes} bytes @param {AbortSignal | undefined} signal
   * @param {{ cid: CID } | { alias: Uint8Array }} name
   */
  #write (bytes, signal, name) {
    const { writer, life } = this.#context
    const [expect, alias] = 'cid' in name ? [name.cid] : [undefined, name.alias]
    return life.run(() => writer.put(bytes, { signal, expect }, { alias, isAlwaysRead: true }))
  }
}

/** @param {unknown} bytes */
function assertBlock (bytes) {
  if (typeof bytes === 'object' && bytes !== null && (Symbol.asyncIterator in bytes || Symbol.iterator in bytes)) return
  throw new TypeError(`"bytes" expected a Uint8Array or an iterable of them, got ${describe(bytes)}`)
}

/** @param {Uint8Array} multihash  a key, which may be damaged */
function digestIn (multihash) {
  try {
    return Digest.decode(multihash)
  } catch {}
}

/** @param {unknown} error @param {string} code */
const isCode = (error, code) => error instanceof Error && 'code' in error && error.code === code
