// What other processes may ask of the process that has a store open.

import { toCid } from '../../../lib/hash/cid.js'

/** @import { BlobStore } from '../../../store/blob-store.js' */

/**
 * @typedef {object} How
 * @property {AsyncIterable<Uint8Array>} body
 * @property {AbortSignal} signal
 * @property {(store: BlobStore, name: string) => Promise<Uint8Array>} rootIn  finds the blob that an operand names
 */
/** @typedef {(store: BlobStore, args: any, how: How) => unknown} Call */

/** @type {Record<string, Call>} */
export const CALLS = {
  put: (store, { tag, expect }, { body, signal }) => store.put(body, { tag, expect, signal }),
  receive: (store, { cid, ranges }, { body, signal }) => store.receive(cid, body, ranges, { signal }),
  download: (store, { cid, ...options }, { signal }) => store.download(cid, { ...options, signal }),
  delete: (store, { cid, force }) => store.delete(cid, { force }),
  rootIn: async (store, { name }, { rootIn }) => toCid(await rootIn(store, name)),
  setTag: (store, { name, cid, options }) => store.tags.set(name, cid, options),
  deleteTag: (store, { name }) => store.tags.delete(name),
  async gc (store, { dryRun }, { signal }) {
    const deleted = /** @type {unknown[]} */ ([])
    const freed = await store.gc({ dryRun, signal, onBlob: blob => deleted.push(blob) })
    return { freed, deleted }
  }
}
