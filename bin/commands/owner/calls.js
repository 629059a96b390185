// The calls that other processes may make to the owner of a store.

import { toCid } from '../../../lib/hash/cid.js'

/** @import { BlobStore } from '../../../store/blob-store.js' */
/** @import { downloadInto } from '../network/download.js' */
/** @import { importFolder } from '../store/collections.js' */
/** @import { importArchive } from '../store/transfer.js' */

/**
 * @typedef {object} How
 * @property {AsyncIterable<Uint8Array>} body
 * @property {AbortSignal} signal
 * @property {(event: string, value: unknown) => void} tell  calls the command's listener for an event
 */
/**
 * @typedef {object} Helpers  functions that commands use on an open store
 * @property {(store: BlobStore, name: string) => Promise<Uint8Array>} rootIn  finds the blob that an operand names
 * @property {typeof downloadInto} downloadInto
 * @property {typeof importFolder} importFolder
 * @property {typeof importArchive} importArchive
 */
/** @typedef {(store: BlobStore, args: any, how: How & Helpers) => unknown} Call */

/** @type {Record<string, Call>} */
export const CALLS = {
  put: (store, { tag, expect }, { body, signal }) => store.put(body, { tag, expect, signal }),
  // The path is the one that this process sees.
  importFile: (store, { path, ...options }, { signal, tell }) =>
    store.importFile(path, { ...options, signal, onProgress: event => tell('onProgress', event) }),
  importDirectory: (store, { path, ...options }, { signal, tell, importFolder }) =>
    importFolder(store, path, { ...options, signal, onProgress: event => tell('onProgress', event) }),
  concat: (store, { cids, tag }, { signal, tell }) => {
    const parts = cids.map((/** @type {import('multiformats/cid').CID} */ cid) => ({ cid }))
    return store.compose(parts, { tag, signal, onProgress: event => tell('onProgress', event) })
  },
  receive: (store, { cid, ranges }, { body, signal }) => store.receive(cid, body, ranges, { signal }),
  download: (store, { cid, ...options }, { signal, tell, downloadInto }) => downloadInto(store, cid, {
    ...options,
    signal,
    onProgress: event => tell('onProgress', event),
    onFile: file => tell('onFile', file),
    onAnswer: answer => tell('onAnswer', answer)
  }),
  import: (store, options, { body, signal, importArchive }) => importArchive(store, body, { ...options, signal }),
  compact: (store, _, { signal }) => store.compact({ signal }),
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
