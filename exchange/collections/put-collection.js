// Keeps a collection in a store: its meta blob and its sequence. Memory stays bounded however many entries there are.
//
// The meta blob begins with the number of names, and the sequence with the hash of the meta blob. The number and the
// hash are known only after the last entry, so names and hashes wait in spools until then.

import { HASHSEQ, fromCid, toCid } from '../../lib/hash/cid.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { createYielder } from '../../lib/source/async-util.js'
import { assertMany, untilSignal } from '../../lib/async/in-order.js'
import { assertStore } from '../../store/interface.js'
import { parseEntry } from './collection.js'
import { encodeName, metaHead } from './meta.js'
import { Spool } from './spool.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { PutOptions } from '../../store/index.js' */
/** @import { Store } from '../../store/interface.js' */
/** @import { NewEntry } from './collection.js' */

/**
 * @typedef {Pick<PutOptions, 'tag' | 'meta' | 'ttl' | 'expires' | 'signal'>} PutCollectionOptions  the options of the
 *   tag, which also protects the members
 */
/**
 * @typedef {object} PutCollectionResult
 * @property {CID} cid  the CID of the collection, with the codec of hash sequences
 * @property {number} length  how many entries
 * @property {boolean} isNew  true if the store lacked one of its two blobs before
 */

/** The names of the options of `putCollection`. */
export const PUT_COLLECTION_OPTIONS = ['tag', 'meta', 'ttl', 'expires', 'signal']

/**
 * Keeps a collection. Does not check the members, because the store need not have them.
 *
 * @param {Store} store
 * @param {Iterable<NewEntry> | AsyncIterable<NewEntry>} entries  for example a `Collection`
 * @param {PutCollectionOptions} [options]
 * @returns {Promise<PutCollectionResult>}
 * @throws {import('../../lib/core/errors.js').BaoError} the errors of `store.put`; CID_UNSUPPORTED
 */
export async function putCollection (store, entries, options = {}) {
  assertStore(store)
  assertMany('entries', entries, 'pairs of a name and a CID')
  assertKnownOptions(options, PUT_COLLECTION_OPTIONS)
  const { signal } = options
  const hold = store.tempTag()
  const names = new Spool(store, hold, signal)
  const hashes = new Spool(store, hold, signal)
  try {
    const length = await spool(entries, names, hashes, signal)
    const meta = await store.put(withHead(metaHead(length), names), { tag: hold, signal })
    const sequence = withHead(fromCid(meta.cid), hashes)
    const { cid, isNew } = await store.put(sequence, { ...options, format: 'hashseq' })
    return { cid: toCid(fromCid(cid), HASHSEQ), length, isNew: isNew || meta.isNew }
  } finally {
    hold.release()
    await names.remove()
    await hashes.remove()
  }
}

/**
 * @param {Iterable<NewEntry> | AsyncIterable<NewEntry>} entries @param {Spool} names @param {Spool} hashes
 * @param {AbortSignal} [signal]
 * @returns {Promise<number>} how many entries
 */
async function spool (entries, names, hashes, signal) {
  const yieldWhenDue = createYielder(signal)
  let length = 0
  for await (const entry of untilSignal(entries, signal)) {
    const { name, root } = parseEntry(entry)
    let bytes = encodeName(name)
    if (!names.fits(bytes)) {
      await names.spill()
      bytes = encodeName(name) // Another call may have used the borrowed memory since.
    }
    names.add(bytes)
    if (!hashes.fits(root)) await hashes.spill()
    hashes.add(root)
    length++
    await yieldWhenDue()
  }
  return length
}

/** @param {Uint8Array} head @param {Spool} spool */
async function * withHead (head, spool) {
  yield head
  yield * spool.pieces()
}
