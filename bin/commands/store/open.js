// Finds and opens the store of a command, and finds blobs in it by CID or tag.

import { mkdir, readdir, rm, rmdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseRoot } from '../../../lib/hash/cid.js'
import { BlobStore } from '../../../store/index.js'
import { Failure, UsageError } from '../../terminal/errors.js'
import { removeAddress } from '../owner/address.js'
import { Owner, ownerOf } from '../owner/ask.js'

/** @import { BaoError } from '../../../lib/core/errors.js' */
/** @import { Context } from '../../types.js' */

/** @typedef {{ store?: string, wait?: boolean, 'read-only'?: boolean }} StoreValues */
/**
 * @typedef {object} OpenOptions
 * @property {boolean} [create]  if true, a missing store is made, and deleted again if the command fails and the store
 *   is empty. False for commands that only read, since a missing store is then probably a typing error. Default: false
 * @property {boolean} [onlyReads]  if true, and another process has the store open, a copy of its current state is
 *   read. Default: false
 * @property {boolean} [calls]  if true, and another process has the store open and takes calls, the store is used
 *   through that process: see `Owner`. Default: false
 */

/** @param {string | undefined} dir  the value of --store */
export const locationOf = dir => dir ?? (process.env.BAOBOX_STORE || join(dataFolder(), 'baobox'))

/**
 * The folder in which programs of a user keep their data. Sources: XDG Base Directory Specification; Apple, "File
 * System Programming Guide"; Microsoft, "Known Folders".
 *
 * @param {{ platform?: string, env?: Record<string, string | undefined>, home?: string }} [system]
 */
export function dataFolder ({ platform = process.platform, env = process.env, home = homedir() } = {}) {
  if (platform === 'win32') return env.LOCALAPPDATA || join(home, 'AppData', 'Local')
  // The specification allows only absolute paths.
  if (env.XDG_DATA_HOME?.startsWith('/')) return env.XDG_DATA_HOME
  return platform === 'darwin' ? join(home, 'Library', 'Application Support') : join(home, '.local', 'share')
}

/** Milliseconds of --wait: 24 days, the maximum of a timer. */
const FOREVER = 2 ** 31 - 1

/**
 * Opens a store until one command has ended.
 *
 * @template T
 * @param {StoreValues} values  of the options
 * @param {Context} context
 * @param {(store: BlobStore) => Promise<T>} use
 * @param {OpenOptions} [options]
 * @returns {Promise<T>}
 */
export async function withStore (values, context, use, options = {}) {
  const location = locationOf(values.store)
  const opened = await openStore(location, values, context, options).catch(error => {
    if (error.code !== 'STORE_ABSENT') throw error
    if (options.create) return undefined
    throw new Failure(`there is no store at ${location}: make one with 'baobox add', or name another with --store`)
  })
  if (opened === undefined) return withNewStore(location, context, use)
  // A command with `calls` uses only methods that `Owner` also has.
  if (opened instanceof Owner) return use(/** @type {BlobStore} */ (/** @type {unknown} */ (opened)))
  try {
    return await use(opened)
  } finally {
    await opened.close()
  }
}

/**
 * @param {string} location @param {StoreValues} values @param {Context} context @param {OpenOptions} options
 * @returns {Promise<BlobStore | Owner>}
 */
async function openStore (location, { wait, 'read-only': readOnly }, { signal }, { onlyReads, calls }) {
  if (readOnly) return BlobStore.open(location, { readOnly, signal })
  /** @param {number} [wait] */
  const own = async wait => {
    const store = await BlobStore.open(location, { create: false, wait, signal })
    await removeAddress(location)
    return store
  }
  try {
    return await own()
  } catch (thrown) {
    const error = /** @type {BaoError} */ (thrown)
    if (error.code !== 'STORE_LOCKED') throw error
    if (onlyReads) {
      say(`${error.message}: reading it as it is now`)
      return BlobStore.open(location, { readOnly: true, signal })
    }
    const owner = calls ? await ownerOf(location, error.pid, signal) : undefined
    if (owner !== undefined) say(`the store at ${location} is open in process ${owner.pid}, which does this now`)
    else if (!wait) throw error
    return owner ?? own(FOREVER)
  }
}

/** @param {string} text  one line on stderr */
const say = text => process.stderr.write(`baobox: ${text}\n`)

/**
 * @template T
 * @param {string} location @param {Context} context @param {(store: BlobStore) => Promise<T>} use
 * @returns {Promise<T>}
 */
async function withNewStore (location, { signal, hasFailed }, use) {
  const firstFolder = await mkdir(location, { recursive: true })
  const others = await readdir(location)
  let isWanted = false
  try {
    const store = await BlobStore.open(location, { signal })
    try {
      const result = await use(store)
      isWanted = !hasFailed()
      return result
    } finally {
      isWanted ||= !await isEmpty(store)
      await store.close()
    }
  } finally {
    if (!isWanted) await removeStore(location, others, firstFolder)
  }
}

/** @param {BlobStore} store */
async function isEmpty (store) {
  const first = await Promise.all([store.list(), store.tags.list()].map(async list => {
    const { done } = await list.next()
    await list.return(undefined)
    return done
  }))
  return first.every(done => done)
}

/**
 * @param {string} location
 * @param {string[]} others  the names that were in the folder before
 * @param {string | undefined} firstFolder  the topmost folder of the path that this command has made
 */
async function removeStore (location, others, firstFolder) {
  const names = (await readdir(location)).filter(name => !others.includes(name))
  for (const name of names) await rm(join(location, name), { recursive: true })
  if (firstFolder === undefined) return
  // Deno's `mkdir` returns an absolute path even for a relative one.
  const last = resolve(firstFolder)
  for (let folder = resolve(location); ; folder = dirname(folder)) {
    await rmdir(folder)
    if (folder === last) return
  }
}

/** True if a name is a CID, or a hash as 64 hexadecimal digits. @param {string} name */
export function isRoot (name) {
  try {
    return parseRoot(name) !== undefined
  } catch {
    return false
  }
}

/**
 * The hash of the blob that an operand names.
 *
 * @param {BlobStore} store  or an owner, which then finds the blob
 * @param {string} name  a CID, 64 hexadecimal digits, or a tag; or one of these, then a slash and a name in
 *   that collection or a path of that manifest
 * @returns {Promise<Uint8Array>}
 * @throws {Failure} when the name does not have one of these forms
 */
export async function rootIn (store, name) {
  if (name === '') throw new UsageError('a CID or tag must not be empty')
  if (store instanceof Owner) return store.rootIn(name)
  const root = await rootOrTagIn(store, name) ?? await memberIn(store, name)
  if (root === undefined) throw new Failure(`'${name}' is neither a CID nor a tag of the store`)
  return root
}

/** @param {BlobStore} store @param {string} name @returns {Promise<Uint8Array | undefined>} */
async function rootOrTagIn (store, name) {
  if (isRoot(name)) return parseRoot(name)
  const tag = name === '' ? undefined : await store.tags.get(name)
  return tag && parseRoot(tag.cid)
}

/**
 * The member that `CID/NAME` or `TAG/NAME` names. Tags may contain slashes, so the longest tag that fits is used.
 *
 * @param {BlobStore} store @param {string} name
 * @returns {Promise<Uint8Array | undefined>} undefined if the name does not begin with a CID or a tag
 * @throws {Failure} when the collection or manifest does not have the name
 */
async function memberIn (store, name) {
  for (let slash = name.lastIndexOf('/'); slash > 0; slash = name.lastIndexOf('/', slash - 1)) {
    const root = await rootOrTagIn(store, name.slice(0, slash))
    if (root === undefined) continue
    const wanted = name.slice(slash + 1)
    return namedIn(store, root, wanted, name.slice(0, slash))
  }
}

/**
 * The member of a collection with a name, or the blob at a path of a manifest.
 *
 * @param {BlobStore} store @param {Uint8Array} root
 * @param {string} wanted  the name, or the path without its first slash
 * @param {string} of  how the operand names the collection or manifest, for errors
 * @returns {Promise<Uint8Array>}
 */
async function namedIn (store, root, wanted, of) {
  const { findManifest, rootOfSource } = await import('../../../exchange/collections/web/stored-manifest.js')
  const manifest = await findManifest(store, root)
  if (manifest !== undefined) {
    const { src } = manifest.get(`/${wanted}`) ?? {}
    if (src === undefined) throw new Failure(`the manifest ${of} has no '/${wanted}'`)
    const found = await rootOfSource(store, src)
    if (found === undefined) throw new Failure(`the store has no blob ${src}`)
    return found
  }
  const { collectionEntries } = await import('../../../exchange/collections/index.js')
  for await (const [entry, cid] of collectionEntries(store, root)) if (entry === wanted) return parseRoot(cid)
  throw new Failure(`the collection ${of} has no '${wanted}'`)
}

/**
 * Like `rootIn`, but opens the store only if the operand is not a CID or hash.
 *
 * @param {string} name @param {StoreValues} values  of the options @param {Context} context
 */
export async function rootOf (name, values, context) {
  return isRoot(name) ? parseRoot(name) : withStore(values, context, store => rootIn(store, name), { onlyReads: true })
}
