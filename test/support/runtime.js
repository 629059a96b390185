// Functions of Node.js, Bun and Deno that the suites need. In browsers, test/package.json replaces this file by
// test/browser/runtime.js.
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The package that implements `level` in this runtime. */
export const LEVEL = 'classic-level'

/** A factor for the number of random cases; `effort.js` applies it. */
export const EFFORT = Number(process.env.EFFORT ?? 0.2)

/** Where the random cases of properties start. Without it, each run draws others. @type {number | undefined} */
export const SEED = process.env.SEED === undefined ? undefined : Number(process.env.SEED)

/** True if suites run on each kernel and in each kind of place; otherwise they run on one of each. */
export const ALL = process.env.ALL === '1'

/** @param {string} path  from the folder `test` @returns {Promise<any>} undefined when there is no such file */
export async function readJson (path) {
  try {
    return JSON.parse(await readFile(new URL(`../${path}`, import.meta.url), 'utf8'))
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
}

/** Makes a directory for levels. */
export const newLocation = () => mkdtemp(join(tmpdir(), 'baobox-'))

/** Removes a directory of closed levels. @param {string} location */
export const removeLocation = location => rm(location, { recursive: true })

/** Returns the ids of the blob files of a store. @param {string} location @returns {Promise<number[]>} */
export const filesIn = location => readdir(join(location, 'blobs')).then(names => names.map(Number), () => [])

/**
 * Returns the reasons of rejections that nobody handled during `run`, and for a moment after it.
 *
 * @param {() => Promise<void>} run
 */
export async function unheardOf (run) {
  const reasons = []
  const listener = reason => reasons.push(reason)
  process.on('unhandledRejection', listener)
  try {
    await run()
    await new Promise(resolve => setTimeout(resolve, 20))
    return reasons
  } finally {
    process.off('unhandledRejection', listener)
  }
}
