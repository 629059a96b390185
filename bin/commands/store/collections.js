// What add, get and ls do with folders and collections; and baobox diff

import { UsageError } from '../../terminal/errors.js'
import { SIZE_WIDTH, arrivalText, entryText, escapeName, fileLine, sizeText } from '../../terminal/format.js'
import { printResult } from '../../terminal/output.js'
import { withProgress } from '../../terminal/progress.js'
import { collectionEntries } from '../../../store/exchange/collections/index.js'
import { diffDirectory, exportDirectory, importDirectory } from '../../../store/exchange/collections/node/index.js'
import { Owner } from '../owner/ask.js'
import { rootIn, withStore } from './open.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobStore } from '../../../store/index.js' */
/** @import { ImportDirectoryOptions } from '../../../store/exchange/collections/node/index.js' */
/** @import { Context, Given, Run } from '../../types.js' */
/** @typedef {Given<typeof import('../../table/blobs.js').add['options']>} GivenToAdd */
/** @typedef {Given<typeof import('../../table/blobs.js').get['options']>} GivenToGet */
/** @typedef {Given<typeof import('../../table/blobs.js').ls['options']>} GivenToList */

/** baobox add -r @param {GivenToAdd} given @param {Context} context */
export async function addFolders ({ values, operands }, context) {
  const { tag, include, ignore, top, known, reference } = values
  if (operands.includes('-')) throw new UsageError('--recursive needs a folder, and - is none')
  if (known !== undefined && operands.length > 1) throw new UsageError('--known goes with one folder only')
  const { signal, attempt } = context
  const mode = reference ? 'reference' : 'copy'
  await withStore(values, context, async store => {
    for (const name of operands) {
      await attempt(async () => {
        const { cid, length, size, unread, unsafe, isNew } = await withProgress({ name }, onProgress =>
          importInto(store, name, { include, ignore, top, known, mode, tag, signal, onProgress }))
        const line = fileLine(arrivalText(values, { cid, size, isNew }), name)
        await printResult(values, { name, cid: `${cid}`, size, isNew, files: length, unread, unsafe }, line.trimEnd())
        if (unsafe.count > 0) warn(name, unsafe)
      })
    }
  }, { create: true, calls: true })
}

/** Names that are shown of those that `get -r` will refuse. */
const SHOWN_NAMES = 3

/** @param {string} folder @param {{ count: number, names: string[] }} unsafe  names in it */
function warn (folder, { count, names }) {
  const shown = names.slice(0, SHOWN_NAMES).map(entryText).join(', ')
  const rest = count > SHOWN_NAMES ? `, and ${count - SHOWN_NAMES} more` : ''
  const why = 'some systems take these names for something else or for one another'
  process.stderr.write(`baobox: warning: get -r will refuse ${escapeName(folder).name}: ${why}: ${shown}${rest}\n`)
}

/** @param {BlobStore | Owner} store @param {string} path @param {ImportDirectoryOptions} options */
const importInto = (store, path, options) =>
  store instanceof Owner ? store.importDirectory(path, options) : importDirectory(store, path, options)

/** baobox get -r @param {GivenToGet} given @param {Context} context */
export async function getFolder ({ values, operands: [name, folder] }, context) {
  if (folder === undefined) throw new UsageError('missing argument OUTPUT: --recursive writes to a folder')
  const { signal } = context
  const mode = values.link ? 'link' : values.reflink ? 'reflink' : 'copy'
  await withStore(values, context, async store => {
    const root = await rootIn(store, name)
    await withProgress({ name }, onProgress => exportDirectory(store, root, folder, { mode, signal, onProgress }))
  }, { onlyReads: true })
}

/** baobox ls CID @param {GivenToList} given @param {Context} context */
export const listEntries = ({ values, operands: [of] }, context) => withStore(values, context, async store => {
  const root = await rootIn(store, of)
  for await (const [name, cid] of collectionEntries(store, root, { signal: context.signal })) {
    const size = values.json || values.long ? await sizeOf(store, cid) : undefined
    const sizeColumn = (size === undefined ? '?' : sizeText(values, size)).padStart(SIZE_WIDTH)
    const line = `${values.long ? `${cid}  ${sizeColumn}  ` : ''}${entryText(name)}`
    await printResult(values, { name, cid: `${cid}`, size }, line)
  }
}, { onlyReads: true })

/** @param {BlobStore} store @param {CID} cid @returns {Promise<number | undefined>} bytes, where they are known */
const sizeOf = (store, cid) => store.stat(cid).then(({ size, sizeProven }) => sizeProven ? size : undefined, error => {
  if (error.code === 'STORE_NOT_FOUND') return undefined
  throw error
})

/** @type {Run<typeof import('../../table/collections.js').diff>} */
export const diff = ({ values, operands: [of, folder] }, context) => withStore(values, context, async store => {
  const { include, ignore, top } = values
  const options = { include, ignore, top, signal: context.signal }
  for await (const { type, name } of diffDirectory(store, await rootIn(store, of), folder, options)) {
    context.fail()
    await printResult(values, { type, name }, `${type.padEnd('removed'.length)}  ${entryText(name)}`)
  }
}, { onlyReads: true })
