// The file `seal` in the directory of a store. A store writes it when it is closed. It lists the files of LevelDB, so
// that the next opening knows which files have changed, and need not read checked tables again. A seal is valid until
// LevelDB is opened, because each opening makes a manifest with a new name.

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
 * One opening checks at most this many bytes of tables in the data database. This database may have many more tables
 * than the index, and a flipped bit in one of them rarely harms more than one blob.
 */
const DATA_LEN = 1 << 28

/** @param {string} location */
const sealOf = location => `${location}/seal`

/**
 * Checks the databases of a store before they are opened. It reads the tables that were not checked before, and all
 * tables of the index if the store was not closed. In the data database, it reads at most `DATA_LEN` bytes.
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
    // After a crash, all tables of the index are read, because the index decides which data is orphaned.
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
 * @returns {Promise<string | undefined>} the damaged file and its damage, for messages
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
 * @param {string} location @param {Checked} checked  the tables that `checkBeforeOpening` has found right
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

/** @param {string} location @returns {Promise<Pick<Seal, 'index' | 'data'>>} without files if there is no seal */
async function readSeal (location) {
  const lines = new TextDecoder().decode(await readWhole(sealOf(location))).split('\n')
  const isWritten = lines.length === 3 && lines[1] === await checkOf(lines[0])
  const seal = isWritten ? JSON.parse(lines[0]) : undefined
  return seal?.version === VERSION ? seal : { index: [], data: [] }
}

/** Returns the second line of a seal, which reveals a torn first one. @param {string} text  the first line */
async function checkOf (text) {
  await loadChecksum()
  return checksumOf(new TextEncoder().encode(text)).toString(16)
}

/**
 * Returns how many bytes of files a database has lost since it was closed; 0 if that is not known.
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
 * Returns true if LevelDB has not opened a database since it was sealed.
 *
 * @param {Map<string, SealedFile>} sealed @param {Map<string, Stamp>} stamps
 */
const isSealed = (sealed, stamps) =>
  sealed.size > 0 && ![...stamps.keys()].some(name => isManifest(name) && !sealed.has(name))

/**
 * Returns the files of a database that are missing, or have another length, since it was closed.
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
