// Makes sure that only one caller in this process has a folder.
//
// Threads of Node.js share no variables, and neither do copies of this package in several threads. But they share the
// descriptors of the process, and Linux lists those with the files that they are of. So a caller opens the folder
// first, and then looks whether somebody else has it open. Of two callers at least one sees the other. A child process
// does not get these descriptors, but it gets those of LevelDB.

import { close, constants, open } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import { identityOf } from './level-folder.js'

/** Descriptors as numbers: a FileHandle is closed when nobody refers to it, and the store may still be open then. */
const [openFile, closeFile] = [promisify(open), promisify(close)]

/** How often a caller tries to have the folder to itself: two that come at the same moment see each other. */
const TRIES = 10
/** The longest pause between two tries, in milliseconds. Its length is random, so that one of the two comes first. */
const LONGEST_PAUSE = 20

/**
 * @param {string} path  of a folder
 * @param {string[]} locks  files that whoever has the folder may have locked; may be missing
 * @returns {Promise<(() => Promise<void>) | undefined>} gives the folder up; undefined when somebody else in this
 *   process has it. Only Linux tells: elsewhere everybody gets it
 */
export async function claimFolder (path, locks) {
  if (process.platform !== 'linux') return async () => {}
  for (let tries = 1; ; tries++) {
    const fd = await openFile(path, constants.O_RDONLY | constants.O_DIRECTORY)
    const { isHeld, isAlone } = await lookAround(path, locks).catch(async error => {
      await closeFile(fd)
      throw error
    })
    if (isAlone) return () => closeFile(fd)
    await closeFile(fd)
    if (isHeld || tries === TRIES) return undefined
    await new Promise(resolve => setTimeout(resolve, Math.random() * LONGEST_PAUSE))
  }
}

/**
 * @param {string} path  of a folder that the caller has open @param {string[]} locks
 * @returns {Promise<{ isHeld: boolean, isAlone: boolean }>} `isHeld`: true when this process has locked one of the
 *   files; `isAlone`: true when it has not, and has no second descriptor of the folder
 */
async function lookAround (path, locks) {
  const descriptors = await openFiles()
  const folder = await identityOf(path)
  const files = await Promise.all(locks.map(identityOf))
  const areLocked = await Promise.all(descriptors.filter(({ file }) => files.includes(file)).map(isLocked))
  const isHeld = areLocked.includes(true)
  return { isHeld, isAlone: !isHeld && descriptors.filter(({ file }) => file === folder).length < 2 }
}

/**
 * Lists the descriptors of this process. It opens none of the files: closing any descriptor of a file ends all locks
 * that the process has on it (fcntl(2)).
 *
 * @returns {Promise<{ fd: string, file: string }[]>} `file` identifies the file; none when the system does not tell
 */
async function openFiles () {
  const fds = await readdir('/proc/self/fd').catch(() => [])
  const files = await Promise.all(fds.map(fd => identityOf(`/proc/self/fd/${fd}`).catch(() => '')))
  return fds.map((fd, i) => ({ fd, file: files[i] })).filter(({ file }) => file !== '') // Some were closed since.
}

/**
 * Has this process locked a file by this descriptor? A child process gets the descriptors of its parent that LevelDB
 * has opened, but not the locks (proc_pid_fdinfo(5)).
 *
 * @param {{ fd: string }} descriptor
 */
const isLocked = async ({ fd }) => /^lock:/m.test(await readFile(`/proc/self/fdinfo/${fd}`, 'utf8').catch(() => ''))
