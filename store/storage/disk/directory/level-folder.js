// Does what LevelDB does not do in its directory: syncs old logs, checks that there is space for opening the database,
// and finds out which process has it open.

import { randomFillSync } from 'node:crypto'
import { open, readFile, readdir, rm, stat } from 'node:fs/promises'
import { withRoom } from '../../../../lib/source/open-files.js'

/** Bytes that `assertSpaceFor` writes at a time. */
const PIECE_LEN = 1 << 20

/**
 * Returns a string that identifies a file or folder on this machine as long as it is open, whatever its path is.
 *
 * @param {string} path @returns {Promise<string>} empty when nothing is there, or the file system has no inode numbers
 */
export async function identityOf (path) {
  try {
    const { dev, ino } = await stat(path, { bigint: true })
    return ino === 0n ? '' : `${dev}:${ino}`
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')) return ''
    throw error
  }
}

/** Returns how many bytes the logs of a LevelDB have. Opening LevelDB writes them to tables. @param {string} path */
export async function logsLen (path) {
  const sizes = await Promise.all((await logsIn(path)).map(log => stat(log).then(({ size }) => size, () => 0)))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/**
 * Checks that the disk has space for some bytes, by writing them to a file that it deletes again.
 *
 * @param {string} path  of this file @param {number} len  bytes
 * @throws the error of the system
 */
export async function assertSpaceFor (path, len) {
  await rm(path, { force: true })
  const file = await withRoom(() => open(path, 'wx'))
  try {
    await rm(path, { force: true }) // the system deletes an unlinked file when it is closed
    // Random bytes, because some file systems store zeros without taking space.
    const piece = randomFillSync(new Uint8Array(Math.min(len, PIECE_LEN)))
    for (let left = len; left > 0; left -= piece.length) await file.writeFile(piece.subarray(0, left))
    await file.sync()
  } finally {
    await file.close()
    await rm(path, { force: true })
  }
}

/** Syncs the logs that LevelDB has replaced by newer ones. LevelDB does not sync them. @param {string} path */
export async function syncOlderLogs (path) {
  const logs = await logsIn(path)
  for (const log of logs.slice(0, -1)) {
    const file = await withRoom(() => open(log, 'r+')).catch(error => {
      if (error.code !== 'ENOENT') throw error // LevelDB has written its entries to a table, which is on the disk.
    })
    await file?.datasync().finally(() => file.close())
  }
}

/** @param {string} path @returns {Promise<string[]>} the oldest first */
async function logsIn (path) {
  const names = (await withRoom(() => readdir(path))).filter(name => /^\d+\.log$/.test(name))
  return names.sort((a, b) => parseInt(a) - parseInt(b)).map(name => `${path}/${name}`)
}

/** The id of this process. */
export const ownPid = process.pid

/**
 * Finds the process that holds a lock of LevelDB. Only Linux lists all locks with their files.
 *
 * @param {string[]} paths  of lock files, which may be missing
 * @returns {Promise<number | undefined>} the owner of the first lock that is held; undefined when none is held, or the
 *   system has no list
 */
export async function lockOwner (paths) {
  if (process.platform !== 'linux') return undefined
  const files = await Promise.all(paths.map(path => stat(path, { bigint: true }).catch(() => undefined)))
  const locks = [...(await readFile('/proc/locks', 'utf8').catch(() => '')).matchAll(POSIX_LOCK)]
  for (const file of files) {
    const [, pid = 0] = locks.find(lock => isOn(lock, file)) ?? []
    // The id of a process in another container may be hidden here.
    if (Number(pid) > 0) return Number(pid)
  }
  return undefined
}

/** A line of /proc/locks, as proc(5) describes it: `1: POSIX  ADVISORY  WRITE 568 fe:00:2531452 0 EOF`. */
const POSIX_LOCK = /^\d+: POSIX +ADVISORY +WRITE +(\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) /gm

/** Splits a device number as makedev(3) joins it. @param {bigint} dev */
const majorOf = dev => ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & 0xfffff000n)
/** @param {bigint} dev */
const minorOf = dev => (dev & 0xffn) | ((dev >> 12n) & 0xffffff00n)

/** @param {RegExpMatchArray} lock @param {import('node:fs').BigIntStats} [file] */
const isOn = ([, , major, minor, ino], file) => file !== undefined && BigInt(ino) === file.ino &&
  BigInt(`0x${major}`) === majorOf(file.dev) && BigInt(`0x${minor}`) === minorOf(file.dev)
