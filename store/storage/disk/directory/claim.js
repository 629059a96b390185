// Makes sure that only one caller in this process has a folder.
//
// Threads of Node.js do not share variables, but they share the descriptors of the process, and Linux lists these with
// their files. So a caller first opens the folder, and then checks whether another caller has it open. Of two callers,
// at least one sees the other. A child process does not inherit these descriptors, but it inherits those of LevelDB.

import { close, constants, open } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import { identityOf } from './level-folder.js'

/** Descriptors are numbers here, because a FileHandle would be closed as soon as nothing refers to it. */
const [openFile, closeFile] = [promisify(open), promisify(close)]

/** How often a caller tries. Two callers that try at the same moment see each other, and neither gets the folder. */
const TRIES = 10
/** The maximum pause between tries, in milliseconds. Pauses are random, so that one of two callers comes first. */
const LONGEST_PAUSE = 20

/**
 * @param {string} path  of a folder
 * @param {string[]} locks  files that the owner of the folder may have locked; may be missing
 * @returns {Promise<(() => Promise<void>) | undefined>} a function that releases the folder; undefined when another
 *   caller in this process has it. On systems other than Linux, every caller gets the folder
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
 *   files; `isAlone`: true when it has locked none of them, and has no second descriptor of the folder
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
 * Lists the descriptors of this process. It does not open their files, because closing any descriptor of a file ends
 * all locks that the process has on it (fcntl(2)).
 *
 * @returns {Promise<{ fd: string, file: string }[]>} `file` identifies the file; empty when the system has no list
 */
async function openFiles () {
  const fds = await readdir('/proc/self/fd').catch(() => [])
  const files = await Promise.all(fds.map(fd => identityOf(`/proc/self/fd/${fd}`).catch(() => '')))
  return fds.map((fd, i) => ({ fd, file: files[i] })).filter(({ file }) => file !== '') // Some were closed since.
}

/**
 * Returns true if this process has locked a file by this descriptor. A child process inherits the descriptors that
 * LevelDB has opened in its parent, but not the locks (proc_pid_fdinfo(5)).
 *
 * @param {{ fd: string }} descriptor
 */
const isLocked = async ({ fd }) => /^lock:/m.test(await readFile(`/proc/self/fdinfo/${fd}`, 'utf8').catch(() => ''))
