// The file `seal` in the directory of a store. It is written when the store is closed, and lists the files that LevelDB
// has left, so that the next opening finds out what has changed since, and need not read tables again that were checked
// before. A seal counts as long as LevelDB was not opened: each opening makes a manifest of another name.

import { rename, rm, writeFile } from 'node:fs/promises'
import { checkDatabase } from './check.js'
import { checksumOf, loadChecksum } from './checksum.js'
import { isManifest, readWhole, stampsIn } from './files.js'

/** @import { Stamp } from './files.js' */

/** @typedef {{ index: Map<string, Stamp>, data: Map<string, Stamp> }} Checked  the tables that are known to be right */
/** @typedef {{ name: string, isChecked: boolean } & Stamp} SealedFile */
/** @typedef {{ version: number, index: SealedFile[], data: SealedFile[] }} Seal */

const VERSION = 1

const DATABASES = /** @type {const} */ (['index', 'data'])

/**
 * Bytes of tables of the data database that one opening checks. They may be many more than those of the index, and a
 * flipped bit there rarely harms more than one blob.
 */
const DATA_LEN = 1 << 28

/** @param {string} location */
const sealOf = location => `${location}/seal`

/**
 * Checks the databases of a store before they are opened: all tables of the index if the store was not closed,
 * otherwise those that were not checked before. Of the data database it reads `DATA_LEN` bytes at most.
 *
 * @param {string} location @param {AbortSignal} [signal]
 * @returns {Promise<{ fault?: string, checked: Checked }>} `fault`: the damaged file and its damage, for messages
 */
export async function checkBeforeOpening (location, signal) {
  const seal = await readSeal(location)
  const checked = /** @type {Checked} */ ({ index: new Map(), data: new Map() })
  for (const name of DATABASES) {
    const path = `${location}/${name}`
    const sealed = new Map(seal[name].map(file => [file.name, file]))
    const stamps = await stampsIn(path)
    const isClosed = isSealed(sealed, stamps)
    const [change] = isClosed ? lossesSince(sealed, stamps) : []
    if (change !== undefined) return { fault: `${name}/${change.loss}`, checked }
    // After a crash all tables of the index are read, because it decides which data are orphans.
    const isRemembered = isClosed || name === 'data'
    const result = await checkDatabase(path, {
      isClosed,
      stamps,
      signal,
      isKnown: (table, stamp) => isRemembered && isSame(sealed.get(table), stamp),
      ...name === 'data' ? { forgivesValues: true, maxLen: DATA_LEN } : undefined
    })
    if (result.fault !== undefined) return { fault: `${name}/${result.fault}`, checked }
    checked[name] = result.checked
  }
  return { checked }
}

/**
 * Checks the databases of an open store.
 *
 * @param {string} location
 * @param {{ names?: readonly ('index' | 'data')[], checksOrder?: boolean, signal?: AbortSignal }} [options]  `names`:
 *   default: both
 * @returns {Promise<string | undefined>} what is damaged, and how
 */
export async function findFaultInUse (location, { names = DATABASES, checksOrder = false, signal } = {}) {
  for (const name of names) {
    const options = { isInUse: true, checksOrder, forgivesValues: name === 'data', signal }
    const { fault } = await checkDatabase(`${location}/${name}`, options)
    if (fault !== undefined) return `${name}/${fault}`
  }
  return undefined
}

/**
 * Seals a store that LevelDB has just closed.
 *
 * @param {string} location @param {Checked} checked  what `checkBeforeOpening` has found right
 */
export async function sealStore (location, checked) {
  const seal = /** @type {Seal} */ ({ version: VERSION, index: [], data: [] })
  for (const name of DATABASES) {
    for (const [file, stamp] of await stampsIn(`${location}/${name}`)) {
      seal[name].push({ name: file, ...stamp, isChecked: isSame(checked[name].get(file), stamp) })
    }
  }
  const path = sealOf(location)
  const text = JSON.stringify(seal)
  await writeFile(`${path}.new`, `${text}\n${await checkOf(text)}\n`)
  await rename(`${path}.new`, path)
}

/** Removes the seal of a store whose files are being replaced. @param {string} location */
export const removeSeal = location => rm(sealOf(location), { force: true })

/** @param {string} location @returns {Promise<Pick<Seal, 'index' | 'data'>>} without files when there is no seal */
async function readSeal (location) {
  const lines = new TextDecoder().decode(await readWhole(sealOf(location))).split('\n')
  const isWritten = lines.length === 3 && lines[1] === await checkOf(lines[0])
  const seal = isWritten ? JSON.parse(lines[0]) : undefined
  return seal?.version === VERSION ? seal : { index: [], data: [] }
}

/** The second line of a seal. A power cut may have left a part of a seal. @param {string} text  the first line */
async function checkOf (text) {
  await loadChecksum()
  return checksumOf(new TextEncoder().encode(text)).toString(16)
}

/**
 * Returns how many bytes the files of a database have lost since it was closed; 0 when that is not known.
 *
 * @param {string} location @param {'index' | 'data'} name  of the database
 */
export async function bytesLostSinceClosing (location, name) {
  const sealed = new Map((await readSeal(location))[name].map(file => [file.name, file]))
  const stamps = await stampsIn(`${location}/${name}`)
  if (!isSealed(sealed, stamps)) return 0
  return lossesSince(sealed, stamps).reduce((sum, { bytes }) => sum + bytes, 0)
}

/**
 * Returns true when LevelDB has not opened a database since it was sealed.
 *
 * @param {Map<string, SealedFile>} sealed @param {Map<string, Stamp>} stamps
 */
const isSealed = (sealed, stamps) =>
  sealed.size > 0 && ![...stamps.keys()].some(name => isManifest(name) && !sealed.has(name))

/**
 * Returns what the files of a database have lost since it was closed.
 *
 * @param {Map<string, SealedFile>} sealed @param {Map<string, Stamp>} stamps
 */
function lossesSince (sealed, stamps) {
  const losses = /** @type {{ loss: string, bytes: number }[]} */ ([])
  for (const { name, size } of sealed.values()) {
    const stamp = stamps.get(name)
    if (stamp === undefined) losses.push({ loss: `${name}: it is missing`, bytes: size })
    else if (stamp.size !== size) {
      const bytes = Math.max(size - stamp.size, 0)
      losses.push({ loss: `${name}: it has ${stamp.size} bytes instead of ${size}`, bytes })
    }
  }
  return losses
}

/** @param {Stamp & { isChecked?: boolean } | undefined} a @param {Stamp} b */
const isSame = (a, b) => a !== undefined && (a.isChecked ?? true) && a.size === b.size && a.changed === b.changed
