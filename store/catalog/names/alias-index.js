// Reads aliases, and makes the operations that write them. An alias is another name of a blob: a multihash by a hash
// function other than BLAKE3. The index keeps each alias twice, by its multihash and by the blob. Both entries are
// written with the blob's record or later, so an alias never leads to a blob without a record. When the blockstore
// reads a blob by an alias, it hashes the bytes with the alias's function.
//
// When the blockstore deletes an alias that a tag names, the alias stays and is marked as forgotten. The tag still
// leads to the blob by this alias, and the blockstore ignores it.

import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { RAW } from '../../../lib/hash/cid.js'
import { equals } from 'uint8arrays/equals'
import { SortedCursor } from '../../storage/level/sorted-cursor.js'
import { SMALL_ENTRIES, readEntries } from '../../storage/level/entries.js'
import { decodeAlias, encodeAlias } from '../../storage/format/records.js'
import {
  DAMAGED, damagedName, damagedRecord, eachReadable, isCorruption, orIfUnreadable
} from '../../storage/errors.js'
import {
  VIEWS, aliasKey, aliasOfKey, allAliases, allAliasesByBlob, allAliasesOf, multihashOfAlias,
  multihashOfAliasOf, rootOfAliasOf
} from '../../storage/format/keys.js'

/** @import { SafeDatabase } from '../../storage/level/safe-database.js' */
/** @import { Operation } from '../../storage/level/safe-database.js' */
/** @import { Alias } from '../../storage/format/records.js' */

/** Returns the CID of raw bytes for an alias. @param {Uint8Array} multihash */
export const cidOfAlias = multihash => CID.createV1(RAW, Digest.decode(multihash))

export class AliasIndex {
  #index

  /** @param {SafeDatabase} index */
  constructor (index) {
    this.#index = index
  }

  /**
   * Finds the blob that the blockstore has under an alias.
   *
   * @param {Uint8Array} multihash
   * @returns {Promise<Uint8Array | undefined>} its hash; undefined when there is no blob, or the alias is damaged or
   *   forgotten
   */
  async rootOf (multihash) {
    return rootIn(multihash, await orIfUnreadable(this.#index.get(aliasKey(multihash), VIEWS)))
  }

  /**
   * Does what `rootOf` does, for several aliases.
   *
   * @param {Uint8Array[]} multihashes @returns {Promise<(Uint8Array | undefined)[]>}
   */
  async rootsOf (multihashes) {
    if (multihashes.length === 0) return []
    const stored = await this.#storedMany(multihashes.map(aliasKey))
    return multihashes.map((multihash, i) => rootIn(multihash, stored[i]))
  }

  /**
   * Finds the blob that an alias leads to, even if the alias is forgotten.
   *
   * @param {Uint8Array} multihash
   * @returns {Promise<Uint8Array | undefined>} its hash; undefined when the store does not have the alias
   * @throws {import('../../../lib/core/errors.js').BaoError} STORE_CORRUPT { cid } when the alias is damaged
   */
  async resolve (multihash) {
    const stored = await orIfUnreadable(this.#index.get(aliasKey(multihash), VIEWS), DAMAGED)
    if (stored === undefined) return undefined
    const alias = decodeAlias(multihash, stored)
    if (alias === undefined) throw damagedName(cidOfAlias(multihash))
    return alias.root
  }

  /**
   * Reads the aliases of a blob.
   *
   * @param {Uint8Array} root
   * @param {() => void} [onDamage]  called when some aliases cannot be read
   * @returns {Promise<{ multihash: Uint8Array, isForgotten: boolean }[]>}
   */
  async of (root, onDamage) {
    const found = []
    for await (const key of eachReadable(this.#index.keys({ ...allAliasesOf(root), ...VIEWS }), onDamage)) {
      const multihash = multihashOfAliasOf(key)
      const stored = await orIfUnreadable(this.#index.get(aliasKey(multihash), VIEWS))
      const alias = stored && decodeAlias(multihash, stored)
      if (alias !== undefined && equals(alias.root, root)) found.push({ multihash, isForgotten: alias.isForgotten })
    }
    return found
  }

  /**
   * Yields all aliases except forgotten and damaged ones, in the order of their multihashes.
   *
   * @returns {AsyncGenerator<{ multihash: Uint8Array, root: Uint8Array }>}
   * @throws {import('../../../lib/core/errors.js').BaoError} STORE_CORRUPT when LevelDB cannot read some, after all
   *   others
   */
  async * all () {
    for await (const [key, value] of eachReadable(this.#index.iterator({ ...allAliases, ...VIEWS }), fail)) {
      const multihash = multihashOfAlias(key)
      const root = rootIn(multihash, value)
      if (root !== undefined) yield { multihash, root }
    }
  }

  /**
   * Yields the aliases of all blobs, in the order of the blobs.
   *
   * @returns {AsyncGenerator<{ multihash: Uint8Array, root: Uint8Array, isForgotten: boolean }>}
   * @throws {import('../../../lib/core/errors.js').BaoError} STORE_CORRUPT when LevelDB cannot read some, after all
   *   others
   */
  async * byBlob () {
    let isUnreadable = false
    const noteUnreadable = () => { isUnreadable = true }
    for await (const batch of readEntries(this.#index, allAliasesByBlob, noteUnreadable)) {
      const places = batch.flatMap(([key]) => {
        const root = rootOfAliasOf(key)
        return root === undefined ? [] : { root, multihash: multihashOfAliasOf(key) }
      })
      const stored = await this.#storedMany(places.map(({ multihash }) => aliasKey(multihash)), noteUnreadable)
      for (const [i, { root, multihash }] of places.entries()) {
        const alias = stored[i] && decodeAlias(multihash, stored[i])
        if (alias !== undefined && equals(alias.root, root)) yield { multihash, root, isForgotten: alias.isForgotten }
      }
    }
    if (isUnreadable) fail()
  }

  /**
   * Reads stored aliases, one by one if LevelDB cannot read them together.
   *
   * @param {Uint8Array[]} keys
   * @param {() => void} [onDamage]  called for each that LevelDB cannot read
   * @returns {Promise<(Uint8Array | undefined)[]>} undefined for a missing or unreadable one
   */
  async #storedMany (keys, onDamage) {
    const stored = await orIfUnreadable(this.#index.getMany(keys, VIEWS))
    return stored ?? Promise.all(keys.map(key => this.#index.get(key, VIEWS).catch(error => {
      if (!isCorruption(error)) throw error
      onDamage?.()
    })))
  }

  /** Returns a cursor that tells which blobs have aliases, for readers that walk all blobs. */
  inOrder () { return new SortedCursor(this.#index.iterator({ ...allAliasesByBlob, ...SMALL_ENTRIES })) }

  /** @param {Uint8Array} multihash @param {Uint8Array} root @returns {Operation[]} */
  puts (multihash, root) {
    return [
      putOf(multihash, { root, isForgotten: false }),
      { type: 'put', key: aliasOfKey(root, multihash), value: new Uint8Array(0) }
    ]
  }

  /** Returns operations that mark an alias as forgotten. @param {Uint8Array} multihash @param {Uint8Array} root */
  forget (multihash, root) { return [putOf(multihash, { root, isForgotten: true })] }

  /** @param {Uint8Array} multihash @param {Uint8Array} root @returns {Operation[]} */
  dels (multihash, root) {
    return [{ type: 'del', key: aliasKey(multihash) }, { type: 'del', key: aliasOfKey(root, multihash) }]
  }
}

/** @param {Uint8Array} multihash @param {Alias} alias @returns {Operation} */
const putOf = (multihash, alias) => ({ type: 'put', key: aliasKey(multihash), value: encodeAlias(multihash, alias) })

/** Reads a stored alias, unless it is forgotten. @param {Uint8Array} multihash @param {Uint8Array} [stored] */
function rootIn (multihash, stored) {
  const alias = stored && decodeAlias(multihash, stored)
  return alias === undefined || alias.isForgotten ? undefined : alias.root
}

/** @returns {never} */
const fail = () => { throw damagedRecord() }
