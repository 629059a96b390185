// Finds and opens the store of a command, and finds blobs in it by CID or tag.

import { mkdir, readdir, rm, rmdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { HASH_LEN } from '../../../lib/core/constants.js'
import { BaoError } from '../../../lib/core/errors.js'
import { HASHSEQ, RAW, codecOf, multihashOf, parseRoot, toCid } from '../../../lib/hash/cid.js'
import { BlobStore } from '../../../store/index.js'
import { tagNotFound } from '../../../store/interface.js'
import { removeMarked } from '../../../store/storage/opening/rescue-mark.js'
import { DEFAULT_WAIT } from '../../line/values.js'
import { Failure, UsageError } from '../../terminal/errors.js'
import { entryText } from '../../terminal/format.js'
import { removeAddress } from '../owner/address.js'
import { Owner, ownerOf } from '../owner/ask.js'
import { isBucketUrl, openBucketStore } from './bucket.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { StoreOptions } from '../../../store/index.js' */
/** @import { Context } from '../../types.js' */
/** @import { BucketValues } from './bucket.js' */

/**
 * @typedef {{ store?: string, wait?: number, 'read-only'?: boolean } & BucketValues} StoreValues  `wait`: seconds
 */
/**
 * @typedef {object} OpenOptions
 * @property {boolean} [create]  if true, a missing store is made, and deleted again if the command fails and the store
 *   is empty. False for commands that only read, since a missing store is then probably a typing error. Default: false
 * @property {boolean} [onlyReads]  if true, and another process has the store open, a copy of its current state is
 *   read. Default: false
 * @property {boolean} [calls]  if true, and another process has the store open and takes calls, the store is used
 *   through that process: see `Owner`. Default: false
 * @property {Pick<StoreOptions, 'quota' | 'supply'>} [settings]  of the store, for a command that serves it
 */

/** A folder, or the URL of a bucket. @param {string | undefined} dir  the value of --store */
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

/** Milliseconds after which a command says that it waits. */
const SILENT_WAIT = 1000

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
  if (isBucketUrl(location)) return withBucketStore(location, values, context, use, options)
  const given = OF_BUCKETS.find(name => values[name] !== undefined)
  if (given !== undefined) throw new UsageError(`--${given} is for a store in a bucket: --store s3://BUCKET/PREFIX`)
  const opened = await openStore(location, values, context, { ...options, create: false }).catch(error => {
    if (error.code !== 'STORE_ABSENT') throw error
    if (options.create) return undefined
    const advice = "make one with 'baobox add', or name another with --store"
    throw new Failure(`there is no store at ${location}: ${advice}`, { cause: error })
  })
  if (opened === undefined) return withNewStore(location, values, context, use, options)
  // A command with `calls` uses only methods that `Owner` also has.
  if (opened instanceof Owner) return use(/** @type {BlobStore} */ (/** @type {unknown} */ (opened)))
  try {
    return await use(opened)
  } finally {
    await opened.close()
  }
}

/** Options of stores in buckets. */
const OF_BUCKETS = /** @type {const} */ (['endpoint', 'region', 'cache', 'cache-quota'])

/**
 * @template T
 * @param {string} location @param {StoreValues} values @param {Context} context
 * @param {(store: BlobStore) => Promise<T>} use @param {OpenOptions} options
 * @returns {Promise<T>}
 */
async function withBucketStore (location, values, context, use, { settings }) {
  if (settings?.supply !== undefined) throw new UsageError('--origin needs a store in a folder')
  const store = await openBucketStore(location, values, context)
  try {
    // A command that uses other methods than those of all stores looks for them first.
    return await use(/** @type {BlobStore} */ (/** @type {unknown} */ (store)))
  } finally {
    await store.close()
  }
}

/**
 * Returns the folder of a store, for a command that does not work on a store in a bucket.
 *
 * @param {string | undefined} dir  the value of --store @param {string} command
 */
export function folderOf (dir, command) {
  const location = locationOf(dir)
  if (!isBucketUrl(location)) return location
  throw new UsageError(`baobox ${command} is for stores in folders, not for ${location}`)
}

/**
 * @param {string} location @param {StoreValues} values @param {Context} context
 * @param {OpenOptions} options  `create`: make a missing store
 * @returns {Promise<BlobStore | Owner>}
 */
async function openStore (location, values, { signal }, { create = false, onlyReads, calls, settings }) {
  if (values['read-only']) return BlobStore.open(location, { readOnly: true, signal })
  const end = performance.now() + 1000 * (values.wait ?? DEFAULT_WAIT)
  const left = () => Math.max(0, Math.ceil(end - performance.now()))
  for (let wait = 0; ; wait = wait === 0 ? Math.min(SILENT_WAIT, left()) : left()) {
    try {
      const store = await BlobStore.open(location, { ...settings, create, wait, signal })
      await removeAddress(location)
      return store
    } catch (thrown) {
      const error = /** @type {BaoError} */ (thrown)
      if (error.code !== 'STORE_LOCKED') throw error
      if (onlyReads) {
        say(`${error.message}: reading it as it is now`)
        return BlobStore.open(location, { readOnly: true, signal })
      }
      // Asked again after each wait: the process may have begun to take calls.
      const owner = await ownerOf(location, error.pid, signal)
      if (owner !== undefined && calls) {
        say(`the store at ${location} is open in process ${owner.pid}, which does this now`)
        return owner
      }
      // A server does not end soon.
      if (left() === 0 || (owner !== undefined && values.wait === undefined)) throw error
      if (wait > 0) say(`${error.message}: waiting for at most ${Math.ceil(left() / 1000)} s more`)
    }
  }
}

/** @param {string} text  one line on stderr */
const say = text => process.stderr.write(`baobox: ${text}\n`)

/**
 * @template T
 * @param {string} location @param {StoreValues} values @param {Context} context
 * @param {(store: BlobStore) => Promise<T>} use @param {OpenOptions} options
 * @returns {Promise<T>}
 */
async function withNewStore (location, values, context, use, options) {
  const firstFolder = await mkdir(location, { recursive: true })
  const others = await readdir(location)
  const opened = await openStore(location, values, context, options).catch(async error => {
    await removeFolders(location, firstFolder)
    throw error
  })
  if (opened instanceof Owner) return use(/** @type {BlobStore} */ (/** @type {unknown} */ (opened)))
  let isWanted = false
  try {
    const result = await use(opened)
    isWanted = !context.hasFailed()
    return result
  } finally {
    isWanted ||= !await isEmpty(opened)
    if (!isWanted) await removeStore(location, opened, others).catch(() => {}) // an empty store does no harm
    await opened.close()
    if (!isWanted) await removeFolders(location, firstFolder)
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
 * Deletes a store that is open, while others wait for it.
 *
 * @param {string} location @param {BlobStore} store @param {string[]} others  the names that were in the folder before
 */
const removeStore = (location, store, others) => removeMarked(location, {
  close: () => store.close(),
  async remove () {
    const names = (await readdir(location)).filter(name => !others.includes(name) && name !== 'rescue')
    for (const name of names) await rm(join(location, name), { recursive: true })
  }
})

/**
 * Removes folders that are empty.
 *
 * @param {string} location @param {string | undefined} firstFolder  the topmost folder of the path that was made
 */
async function removeFolders (location, firstFolder) {
  if (firstFolder === undefined) return
  // Deno's `mkdir` returns an absolute path even for a relative one.
  const last = resolve(firstFolder)
  for (let folder = resolve(location); ; folder = dirname(folder)) {
    const isGone = await rmdir(folder).then(() => true, () => false) // another process may make a store there
    if (!isGone || folder === last) return
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

/** The hash of the blob that an operand names: see `cidIn`. @param {BlobStore} store @param {string} name */
export const rootIn = async (store, name) => parseRoot(await cidIn(store, name))

/**
 * The CID of the blob that an operand names. A folder has one CID everywhere, that with the codec of sequences: with it
 * every command works, and a download or a tag covers the files, too.
 *
 * @param {BlobStore} store  or an owner, which then finds the blob
 * @param {string} name  a CID, 64 hexadecimal digits, or a tag; or one of these, then a slash and a name in
 *   that collection or a path of that manifest
 * @returns {Promise<CID>}
 * @throws {Failure} when the name does not have one of these forms
 */
export async function cidIn (store, name) {
  if (name === '') throw new UsageError('a CID or tag must not be empty')
  if (store instanceof Owner) return store.cidIn(name)
  const cid = await cidOrTagIn(store, name) ?? await memberIn(store, name)
  if (cid === undefined) throw new Failure(`'${name}' ${whyUnknown(name)}`, { cause: tagNotFound(name) })
  return cid.code === RAW && await isSequence(store, cid) ? toCid(parseRoot(cid), HASHSEQ) : cid
}

/** Says why an operand names no blob. @param {string} name */
function whyUnknown (name) {
  try {
    if (multihashOf(name) !== undefined) return 'is a CID of another hash function: blobs have CIDs of BLAKE3'
  } catch {} // It is no CID.
  return 'is neither a CID nor a tag of the store'
}

/**
 * Warns that a command takes only the list of hashes of a folder, and not its files.
 *
 * @param {string} name  how the operand names the folder
 * @param {'fetching' | 'sending' | 'writing'} doing  what the command does with the list
 */
export const warnOfList = (name, doing) => process.stderr.write(
  `baobox: warning: '${name}' is a folder: ${doing} its list of hashes without the files; with -r they come, too\n`)

/**
 * Does work on a blob. An error of the store names the blob by the CID that the command line shows for it.
 *
 * @template T
 * @param {CID} cid  as `cidIn` has returned it @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function named (cid, work) {
  try {
    return await work()
  } catch (error) {
    const stored = `${toCid(parseRoot(cid))}`
    if (error instanceof BaoError && error.code.startsWith('STORE_')) {
      error.message = error.message.replaceAll(stored, `${cid}`)
      if (`${error.cid}` === stored) error.cid = cid
    }
    throw error
  }
}

/**
 * True if a blob consists of hashes, and the first is that of another blob of the store. Other blobs do not begin so by
 * chance.
 *
 * @param {BlobStore} store @param {CID} cid
 */
async function isSequence (store, cid) {
  const [stat] = await store.statMany([cid])
  if (!stat?.complete || stat.size === 0 || stat.size % HASH_LEN !== 0) return false
  // A damaged blob keeps the name that it was given: this is not the place to report damage.
  const first = await store.bytes(cid, { start: 0, end: HASH_LEN }).catch(() => undefined)
  return first !== undefined && (await store.statMany([first]))[0] !== undefined
}

/** @param {BlobStore} store @param {string} name @returns {Promise<CID | undefined>} */
async function cidOrTagIn (store, name) {
  if (isRoot(name)) return toCid(parseRoot(name), codecOf(name))
  const tag = name === '' ? undefined : await store.tags.get(name)
  return tag && toCid(parseRoot(tag.cid), tag.cid.code)
}

/**
 * The member that `CID/NAME` or `TAG/NAME` names. Tags may contain slashes, so the longest tag that fits is used.
 *
 * @param {BlobStore} store @param {string} name
 * @returns {Promise<CID | undefined>} undefined if the name does not begin with a CID or a tag
 * @throws {Failure} when the collection or manifest does not have the name
 */
async function memberIn (store, name) {
  for (let slash = name.lastIndexOf('/'); slash > 0; slash = name.lastIndexOf('/', slash - 1)) {
    const cid = await cidOrTagIn(store, name.slice(0, slash))
    if (cid === undefined) continue
    const wanted = name.slice(slash + 1)
    return toCid(await namedIn(store, parseRoot(cid), wanted, name.slice(0, slash)))
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
    if (src === undefined) throw new Failure(`the manifest ${of} has no '/${wanted}': 'baobox ls' lists its paths`)
    const found = await rootOfSource(store, src)
    if (found === undefined) throw new Failure(`the store has no blob ${src}`)
    return found
  }
  const { collectionEntries } = await import('../../../exchange/collections/index.js')
  let meant
  for await (const [entry, cid] of collectionEntries(store, root)) {
    if (entry === wanted) return parseRoot(cid)
    // The names of a folder begin with its own name, which a tag often has, too.
    if (wanted !== '' && entry.slice(entry.indexOf('/') + 1) === wanted) meant ??= entry
  }
  const hint = meant === undefined ? "'baobox ls' lists its names" : `did you mean '${entryText(`${of}/${meant}`)}'?`
  throw new Failure(`the collection ${of} has no '${wanted}': ${hint}`)
}

/**
 * Like `cidIn`, but opens the store only if the operand is not a CID or hash.
 *
 * @param {string} name @param {StoreValues} values  of the options @param {Context} context
 * @returns {Promise<CID>}
 */
export async function cidOf (name, values, context) {
  if (isRoot(name)) return toCid(parseRoot(name), codecOf(name))
  return withStore(values, context, store => cidIn(store, name), { onlyReads: true }).catch(error => {
    // A CID with a wrong letter is looked up as a tag, so the message also names the CID.
    if (error.cause?.code !== 'STORE_ABSENT') throw error
    throw new Failure(`'${name}' is not a CID, and ${error.message}`, { cause: error.cause })
  })
}
