// Compares a collection or manifest with a folder, file by file.

import { realpath } from 'node:fs/promises'
import { absolute, realPath } from '../../../lib/source/paths.node.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { parseRoot } from '../../../lib/hash/cid.js'
import { createYielder } from '../../../lib/source/async-util.js'
import { inOrder } from '../../../lib/async/in-order.js'
import { assertStore } from '../../../store/interface.js'
import { getCollection } from '../get-collection.js'
import { compareNames } from '../safe-names.js'
import { filesIn, findManifest } from '../web/stored-manifest.js'
import { hasHash, paceBeside } from './found-file.js'
import { selectionOf } from './patterns.js'
import { assertTop, prefixOf, walkFolder } from './walk-folder.js'

/** @import { BlobName } from '../../../lib/hash/cid.js' */
/** @import { Store } from '../../../store/interface.js' */
/** @import { CollectionEntry } from '../collection.js' */
/** @import { SelectionOptions } from './patterns.js' */
/** @import { FoundFile } from './walk-folder.js' */

/**
 * @typedef {{ type: 'added' | 'removed' | 'changed', name: string }} DirectoryDifference  `added`: only the folder has
 *   the name; `removed`: only the collection has it; `changed`: the bytes of the file are different
 */
/**
 * @typedef {SelectionOptions & { top?: string, signal?: AbortSignal }} DiffOptions  the same as in `importDirectory`
 */

/** The number of files that are hashed at the same time. */
const HASHED_AHEAD = 8

/**
 * Compares a collection or manifest with the collection that `importDirectory` would make from a folder. Reads all
 * files of the folder whose names the collection has. The store need not have the members.
 *
 * @param {Store} store
 * @param {BlobName} cid  the CID of the collection or manifest, which is read into memory
 * @param {string | URL} path  the path of the folder
 * @param {DiffOptions} [options]  for a manifest, the default of `top` is `''`, because the paths of a manifest begin
 *   at the top
 * @returns {AsyncGenerator<DirectoryDifference>} in the order of names; none if both have the same files. If the
 *   collection has a name twice, only the first entry counts
 * @throws {import('../../../lib/core/errors.js').BaoError} the errors of `getCollection` and `getManifest`;
 *   PATH_UNSAFE, as for `importDirectory`
 */
export function diffDirectory (store, cid, path, options = {}) {
  assertStore(store)
  assertKnownOptions(options, ['include', 'ignore', 'top', 'signal'])
  selectionOf(options) // only to check them
  assertTop(options.top)
  return differences(store, parseRoot(cid, 'cid'), absolute(path), options)
}

/**
 * @param {Store} store @param {Uint8Array} cid @param {string} path @param {DiffOptions} options
 * @returns {AsyncGenerator<DirectoryDifference>}
 */
async function * differences (store, cid, path, options) {
  const { signal } = options
  const manifest = await findManifest(store, cid, { signal })
  const collection = manifest ? new Map(await filesIn(store, manifest)) : await getCollection(store, cid, { signal })
  const { top = manifest && '' } = options
  const pace = paceBeside(store)
  const ownPath = store.location && await realPath(store.location)
  const files = walkFolder(path, { ...options, top }, pace, file => file === ownPath)
  const pairs = pairsOf(await namesIn(collection, path, { ...options, top }), files)
  /** @type {(pair: { name: string, file?: FoundFile }) => Promise<DirectoryDifference | undefined>} */
  const compare = async ({ name, file }) => {
    const member = collection.get(name)
    if (file === undefined) return { type: 'removed', name }
    if (member === undefined) return { type: 'added', name }
    return await hasHash(file, member, pace, signal) ? undefined : { type: 'changed', name }
  }
  for await (const difference of inOrder(pairs, () => HASHED_AHEAD, compare)) {
    if (difference !== undefined) yield difference
  }
}

/**
 * The names of a collection that are compared, sorted, each of them once.
 *
 * @param {Iterable<CollectionEntry>} collection @param {string} path @param {DiffOptions} options
 * @returns {Promise<string[]>}
 */
async function namesIn (collection, path, options) {
  const { hasFile } = selectionOf(options)
  const location = await realpath(path)
  const prefix = prefixOf(location, options.top)
  const names = new Set()
  const yieldWhenDue = createYielder(options.signal) // the names of thousands of folders take a while
  for (const [name] of collection) {
    await yieldWhenDue()
    const isBelow = name.startsWith(prefix)
    if (!isBelow || hasFile(name.slice(prefix.length))) names.add(name)
  }
  return [...names].sort(compareNames)
}

/**
 * Joins each name with the file of this name. Both lists are sorted.
 *
 * @param {string[]} names @param {AsyncGenerator<FoundFile>} files
 * @returns {AsyncGenerator<{ name: string, file?: FoundFile }>}
 */
async function * pairsOf (names, files) {
  let at = 0
  for await (const file of files) {
    for (; at < names.length && compareNames(names[at], file.name) < 0; at++) yield { name: names[at] }
    if (names[at] === file.name) at++
    yield { name: file.name, file }
  }
  for (; at < names.length; at++) yield { name: names[at] }
}
