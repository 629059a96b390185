// What other processes may ask of the process that has a store open. Arguments and results are JSON, with CIDs as
// `{ "/": "bafkr4i..." }`.

import { CID } from 'multiformats/cid'

/** @import { BlobStore } from '../../../store/blob-store.js' */

/** @typedef {{ body: AsyncIterable<Uint8Array>, signal: AbortSignal }} How */
/** @typedef {(store: BlobStore, args: any, how: How) => unknown} Call */

/** @type {Record<string, Call>} */
export const CALLS = {
  put: (store, { tag, expect }, { body, signal }) => store.put(body, { tag, expect, signal }),
  receive: (store, { cid, ranges }, { body, signal }) => store.receive(cid, body, ranges, { signal }),
  download: (store, { cid, ...options }, { signal }) => store.download(cid, { ...options, signal }),
  delete: (store, { cid, force }) => store.delete(cid, { force }),
  getTag: (store, { name }) => store.tags.get(name),
  setTag: (store, { name, cid, options }) => store.tags.set(name, cid, options),
  deleteTag: (store, { name }) => store.tags.delete(name),
  async gc (store, { dryRun }, { signal }) {
    const deleted = /** @type {unknown[]} */ ([])
    const freed = await store.gc({ dryRun, signal, onBlob: blob => deleted.push(blob) })
    return { freed, deleted }
  }
}

/** @param {unknown} value */
export const encode = value => JSON.stringify(value ?? null, (_key, inner) =>
  inner instanceof Error ? { message: inner.message } : inner)

/** @param {string} text @returns {any} undefined where there was none */
export const decode = text => JSON.parse(text, (_key, inner) =>
  typeof inner?.['/'] === 'string' ? CID.parse(inner['/']) : inner) ?? undefined
