// The parts of baobox add, get and ls for folders and collections; and baobox diff

import { UsageError } from '../../terminal/errors.js'
import { SIZE_WIDTH, arrivalText, entryText, escapeName, fileLine, sizeText } from '../../terminal/format.js'
import { outputOf, printResult } from '../../terminal/output.js'
import { withProgress } from '../../terminal/progress.js'
import { Manifest, collectionEntries, getCollection, putManifest } from '../../../exchange/collections/index.js'
import { findManifest, rootOfSource } from '../../../exchange/collections/web/stored-manifest.js'
import { diffDirectory, exportDirectory, importDirectory } from '../../../exchange/collections/node/index.js'
import { Owner } from '../owner/ask.js'
import { rootIn, withStore } from './open.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BaoError } from '../../../lib/core/errors.js' */
/** @import { BlobStore } from '../../../store/index.js' */
/** @import { ImportDirectoryOptions } from '../../../exchange/collections/node/index.js' */
/** @import { Context, Given, Run } from '../../types.js' */
/** @typedef {Given<typeof import('../../table/blobs.js').add['options']>} GivenToAdd */
/** @typedef {Given<typeof import('../../table/blobs.js').get['options']>} GivenToGet */
/** @typedef {Given<typeof import('../../table/blobs.js').ls['options']>} GivenToList */

/** baobox add -r @param {GivenToAdd} given @param {Context} context */
export async function addFolders ({ values, operands }, context) {
  const { tag, include, ignore, known, reference, manifest } = values
  if (operands.includes('-')) throw new UsageError('--recursive needs a folder, and - is not a folder')
  if (known !== undefined && operands.length > 1) throw new UsageError('--known is for one folder only')
  const { signal, attempt } = context
  const mode = reference ? 'reference' : 'copy'
  const top = values.top ?? (manifest ? '' : undefined)
  await withStore(values, context, async store => {
    for (const name of operands) {
      await attempt(async () => {
        const { cid, length, size, unread, unsafe, isNew } = await withProgress({ name }, onProgress =>
          importInto(store, name, { manifest, include, ignore, top, known, mode, tag, signal, onProgress }))
        const line = fileLine(arrivalText(values, { cid, size, isNew }), name)
        await printResult(values, { name, cid: `${cid}`, size, isNew, files: length, unread, unsafe }, line.trimEnd())
        if (unsafe.count > 0 && !manifest) warn(name, unsafe)
      })
    }
  }, { create: true, calls: true })
}

/** The maximum number of names in the warning. */
const SHOWN_NAMES = 3

/** Warns of names that get -r will refuse. @param {string} folder @param {{ count: number, names: string[] }} unsafe */
function warn (folder, { count, names }) {
  const shown = names.slice(0, SHOWN_NAMES).map(entryText).join(', ')
  const rest = count > SHOWN_NAMES ? `, and ${count - SHOWN_NAMES} more` : ''
  const why = 'on some systems these names have a special meaning, or are the same name'
  process.stderr.write(`baobox: warning: get -r will refuse ${escapeName(folder).name}: ${why}: ${shown}${rest}\n`)
}

/**
 * @typedef {ImportDirectoryOptions & { known?: string, manifest?: boolean }} FolderOptions  `manifest`: make a manifest
 *   of the folder
 */

/** @param {BlobStore | Owner} store @param {string} path @param {FolderOptions} options */
const importInto = (store, path, options) =>
  store instanceof Owner ? store.importDirectory(path, options) : importFolder(store, path, options)

/**
 * Does what `importDirectory` does. With `manifest`, the CID is that of a manifest, and the tag names the sequence of
 * the manifest and its files.
 *
 * @param {BlobStore} store @param {string} path @param {FolderOptions} options
 */
export async function importFolder (store, path, { manifest, tag, ...options }) {
  if (!manifest) return importDirectory(store, path, { ...options, tag })
  const { signal } = options
  const hold = store.tempTag()
  try {
    const imported = await importDirectory(store, path, { ...options, tag: hold })
    const collection = await getCollection(store, imported.cid, { signal })
    const { cid, isNew } = await putManifest(store, Manifest.fromCollection(collection), { tag, signal })
    return { ...imported, cid, isNew }
  } finally {
    hold.release()
  }
}

/** baobox get -r @param {GivenToGet} given @param {Context} context */
export async function getFolder ({ values, operands: [name, operand] }, context) {
  const folder = outputOf(operand, values.output)
  if (folder === undefined) throw new UsageError('missing argument OUTPUT: --recursive writes to a folder')
  if (folder === '-') throw new UsageError('OUTPUT is -: a collection cannot be written to stdout, name a folder')
  const { signal } = context
  const { update } = values
  const mode = values.link ? 'link' : values.reflink ? 'reflink' : 'copy'
  await withStore(values, context, async store => {
    const root = await rootIn(store, name)
    await withProgress({ name }, onProgress =>
      exportDirectory(store, root, folder, { mode, update, signal, onProgress }))
  }, { onlyReads: true })
}

/** baobox ls CID @param {GivenToList} given @param {Context} context */
export const listEntries = ({ values, operands: [of] }, context) => withStore(values, context, async store => {
  const { signal } = context
  for await (const { name, cid, type } of listed(store, await rootIn(store, of), signal)) {
    const size = values.json || values.long ? await sizeOf(store, cid) : undefined
    const sizeColumn = (size === undefined ? '?' : sizeText(values, size)).padStart(SIZE_WIDTH)
    const line = `${values.long ? `${cid}  ${sizeColumn}  ` : ''}${entryText(name)}`
    await printResult(values, { name, cid: `${cid}`, size, type }, line)
  }
}, { onlyReads: true })

/**
 * The entries of a collection or manifest.
 *
 * @param {BlobStore} store @param {Uint8Array} root @param {AbortSignal} signal
 * @returns {AsyncGenerator<{ name: string, cid: CID, type?: string }>}
 */
async function * listed (store, root, signal) {
  const manifest = await findManifest(store, root, { signal })
  for (const [name, { src: cid, 'content-type': type }] of manifest ?? []) yield { name, cid, type }
  if (manifest !== undefined) return
  for await (const [name, cid] of collectionEntries(store, root, { signal })) yield { name, cid }
}

/** @param {BlobStore} store @param {CID} cid @returns {Promise<number | undefined>} bytes, if known */
async function sizeOf (store, cid) {
  try {
    const root = await rootOfSource(store, cid)
    const { size, sizeProven } = root === undefined ? { size: 0, sizeProven: false } : await store.stat(root)
    return sizeProven ? size : undefined
  } catch (error) {
    if (/** @type {BaoError} */ (error).code === 'STORE_NOT_FOUND') return undefined
    throw error
  }
}

/** @type {Run<typeof import('../../table/collections.js').diff>} */
export const diff = ({ values, operands: [of, folder] }, context) => withStore(values, context, async store => {
  const { include, ignore, top } = values
  const options = { include, ignore, top, signal: context.signal }
  for await (const { type, name } of diffDirectory(store, await rootIn(store, of), folder, options)) {
    context.fail()
    await printResult(values, { type, name }, `${type.padEnd('removed'.length)}  ${entryText(name)}`)
  }
}, { onlyReads: true })
