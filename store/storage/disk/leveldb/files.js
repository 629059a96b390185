// Reads whole files of a LevelDB, and finds the files that the manifest names.

import { readdir, stat } from 'node:fs/promises'
import { openRegular } from '../../../../lib/source/paths.node.js'
import { isNoFile } from '../../../../lib/source/open-files.js'
import { readManifest } from './manifest.js'

/** @import { Manifest } from './manifest.js' */

/**
 * @typedef {object} Stamp  properties of a file that change when it is written, replaced or copied
 * @property {number} size  bytes
 * @property {number} changed  milliseconds since 1970
 */

/** The maximum length of a file that is read. The files of a store's LevelDB have less than a quarter of this. */
const MAX_FILE_LEN = 1 << 28
const TABLE = /^\d+\.(ldb|sst)$/
const LOG = /^\d+\.log$/
const MANIFEST = /^MANIFEST-\d+$/

/** @param {string} name  of a file */
export const isManifest = name => MANIFEST.test(name)

/** @param {string} path @returns {Promise<Uint8Array | undefined>} undefined when the file is missing */
export async function readWhole (path) {
  const file = await openRegular(path).catch(unlessNoFile)
  if (file === undefined) return undefined
  try {
    const { size } = await file.stat()
    if (size > MAX_FILE_LEN) throw new Error(`${path} has ${size} bytes: LevelDB did not write it`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** @param {unknown} error @returns {undefined} */
function unlessNoFile (error) {
  if (!isNoFile(error)) throw error
}

/** Returns the files of a LevelDB with their stamps. @param {string} path @returns {Promise<Map<string, Stamp>>} */
export async function stampsIn (path) {
  const names = await readdir(path).catch(unlessNoFile) ?? []
  const ours = names.filter(name => TABLE.test(name) || LOG.test(name) || isManifest(name))
  const stats = await Promise.all(ours.map(name => stat(`${path}/${name}`).catch(unlessNoFile)))
  return new Map(ours.flatMap((name, i) => {
    const { size = 0, ctimeMs, mtimeMs = 0 } = stats[i] ?? {}
    // In Deno, `ctimeMs` may be missing, or older than the last write.
    return stats[i] === undefined ? [] : [[name, { size, changed: Math.max(ctimeMs ?? 0, mtimeMs) }]]
  }))
}

/** Returns the name of the manifest in CURRENT. @param {string} path @returns {Promise<string | undefined>} */
export async function currentManifest (path) {
  const text = new TextDecoder().decode(await readWhole(`${path}/CURRENT`))
  return text.endsWith('\n') && MANIFEST.test(text.slice(0, -1)) ? text.slice(0, -1) : undefined
}

/** Returns the tables and logs in a folder, by their numbers. @param {string[]} names */
export const filesByNumber = names => ({ tables: byNumber(names, TABLE), logs: byNumber(names, LOG) })

/** @param {string[]} names @param {RegExp} kind @returns {Map<number, string>} in the order of the numbers */
function byNumber (names, kind) {
  const found = names.filter(name => kind.test(name)).sort((a, b) => parseInt(a) - parseInt(b))
  return new Map(found.map(name => [parseInt(name), name]))
}

/**
 * Returns the logs whose writes are not in tables yet, the oldest first.
 *
 * @param {Manifest} manifest @param {Map<number, string>} logs  by their numbers
 * @returns {string[] | undefined} undefined when one is missing
 */
export function logsOf ({ log, previousLog }, logs) {
  if (log > 0 && !logs.has(log)) return undefined
  return [...logs].flatMap(([number, name]) => number >= log || number === previousLog ? [name] : [])
}

/**
 * Reads the manifest that CURRENT names; if CURRENT is damaged, the newest one.
 *
 * @param {string} path @param {string[]} names  of the files in the folder
 * @returns {Promise<Manifest | undefined>} undefined when it is damaged
 */
export async function findManifest (path, names) {
  const numberOf = (/** @type {string} */ name) => Number(name.slice('MANIFEST-'.length))
  const newest = names.filter(isManifest).sort((a, b) => numberOf(a) - numberOf(b)).at(-1)
  const current = await currentManifest(path)
  const name = current !== undefined && names.includes(current) ? current : newest
  const bytes = name === undefined ? undefined : await readWhole(`${path}/${name}`)
  return bytes && readManifest(bytes, { corrects: true })
}
