// Does what LevelDB leaves out in its own directory: syncs old logs, and looks whether there is space to open it.

import { randomFillSync } from 'node:crypto'
import { open, readdir, rm, stat } from 'node:fs/promises'

/** Bytes that are written at a time to see whether there is space for more. */
const PIECE_LEN = 1 << 20

/**
 * Returns what identifies a file on this machine as long as it is open.
 *
 * @param {string} path @returns {Promise<string>} empty when there is none
 */
export async function identityOf (path) {
  try {
    const { dev, ino } = await stat(path)
    return `${dev}:${ino}`
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')) return ''
    throw error
  }
}

/** Bytes in the logs of a LevelDB: what it writes to tables when it is opened. @param {string} path */
export async function logsLen (path) {
  const sizes = await Promise.all((await logsIn(path)).map(log => stat(log).then(({ size }) => size, () => 0)))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/**
 * Can as many bytes be written, and reach the disk? Nothing is left of them.
 *
 * @param {string} path  of a file that is made for this @param {number} len
 * @throws what the system says of it
 */
export async function assertSpaceFor (path, len) {
  await rm(path, { force: true })
  const file = await open(path, 'wx')
  try {
    await rm(path, { force: true }) // the system deletes an unlinked file when it is closed
    // Some file systems keep zeros in no space at all.
    const piece = randomFillSync(new Uint8Array(Math.min(len, PIECE_LEN)))
    for (let left = len; left > 0; left -= piece.length) await file.writeFile(piece.subarray(0, left))
    await file.sync()
  } finally {
    await file.close()
    await rm(path, { force: true })
  }
}

/** Syncs the logs that LevelDB has replaced by newer ones. LevelDB does not. @param {string} path */
export async function syncOlderLogs (path) {
  const logs = await logsIn(path)
  for (const log of logs.slice(0, -1)) {
    const file = await open(log, 'r+').catch(error => {
      if (error.code !== 'ENOENT') throw error // what it held is in a table by now, and on the disk
    })
    await file?.datasync().finally(() => file.close())
  }
}

/** @param {string} path @returns {Promise<string[]>} the oldest first */
async function logsIn (path) {
  const names = (await readdir(path)).filter(name => /^\d+\.log$/.test(name))
  return names.sort((a, b) => parseInt(a) - parseInt(b)).map(name => `${path}/${name}`)
}
