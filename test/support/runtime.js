// What the suites need of Node.js, Bun and Deno. In a browser, test/browser/runtime.js stands in its place:
// test/package.json says so.
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What `level` is here. */
export const LEVEL = 'classic-level'

/** A factor for the number of random cases; `effort.js` applies it. */
export const EFFORT = Number(process.env.EFFORT ?? 0.2)

/** True if suites run on each kernel and in each kind of place; otherwise they run on one. */
export const ALL = process.env.ALL === '1'

/** @param {string} path  from the folder `test` @returns {Promise<any>} undefined when there is no such file */
export async function readJson (path) {
  try {
    return JSON.parse(await readFile(new URL(`../${path}`, import.meta.url), 'utf8'))
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
}

/** A new name for levels to live under: a directory. */
export const newLocation = () => mkdtemp(join(tmpdir(), 'baobox-'))

/** Removes everything under it; the levels are closed. @param {string} location */
export const removeLocation = location => rm(location, { recursive: true })

/** The ids of the blobs that a store there keeps in files. @param {string} location @returns {Promise<number[]>} */
export const filesIn = location => readdir(join(location, 'blobs')).then(names => names.map(Number), () => [])

/**
 * The reasons of rejections that nobody handled while `run` ran, and a moment longer.
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
