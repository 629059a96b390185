// Makes sure that only one caller in this process has a folder.
//
// Threads of Node.js share no variables, and neither do copies of this package in several threads. But they share the
// descriptors of the process, and Linux lists those with the files that they are of. So a caller opens the folder
// first, and then looks whether somebody else has it open. Of two callers at least one sees the other.

import { close, constants, open } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import { identityOf } from './level-folder.js'

/** Descriptors as numbers: a FileHandle is closed when nobody refers to it, and the store may still be open then. */
const [openFile, closeFile] = [promisify(open), promisify(close)]

/** Where Linux lists the descriptors of this process. */
const DESCRIPTORS = '/proc/self/fd'

/** How often a caller tries to have the folder to itself: two that come at the same moment see each other. */
const TRIES = 10
/** The longest pause between two tries, in milliseconds. Its length is random, so that one of the two comes first. */
const LONGEST_PAUSE = 20

/**
 * @param {string} path  of a folder
 * @param {string[]} locks  files that whoever has the folder has open; may be missing
 * @returns {Promise<(() => Promise<void>) | undefined>} gives the folder up; undefined when somebody else in this
 *   process has it. Only Linux tells: elsewhere everybody gets it
 */
export async function claimFolder (path, locks) {
  if (process.platform !== 'linux') return async () => {}
  for (let tries = 1; ; tries++) {
    const fd = await openFile(path, constants.O_RDONLY | constants.O_DIRECTORY)
    const open = await openFiles()
    const folder = await identityOf(path)
    const held = await Promise.all(locks.map(identityOf))
    const isLocked = held.some(lock => open.includes(lock))
    if (!isLocked && open.indexOf(folder) === open.lastIndexOf(folder)) return () => closeFile(fd)
    await closeFile(fd)
    if (isLocked || tries === TRIES) return undefined
    await new Promise(resolve => setTimeout(resolve, Math.random() * LONGEST_PAUSE))
  }
}

/**
 * Returns the identities of the files that this process has open, once for each descriptor. The files are not opened:
 * closing any descriptor of a file ends all locks that the process has on it (fcntl(2)).
 *
 * @returns {Promise<string[]>} none when the system does not tell
 */
async function openFiles () {
  const numbers = await readdir(DESCRIPTORS).catch(() => [])
  const files = await Promise.all(numbers.map(number => identityOf(`${DESCRIPTORS}/${number}`).catch(() => '')))
  return files.filter(file => file !== '') // Some were closed since.
}
