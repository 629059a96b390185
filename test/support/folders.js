// Folders for tests: made from a list of files, and read back.
import { mkdir, mkdtemp, readFile, readdir, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** Returns a function that makes folders, which are removed after each test. @returns {() => Promise<string>} */
export function newFolders () {
  const made = []
  afterEach(async () => { for (const path of made.splice(0)) await rm(path, { recursive: true, force: true }) })
  return async () => {
    const path = await mkdtemp(join(tmpdir(), 'baobox-'))
    made.push(path)
    return path
  }
}

/** @param {string} folder @param {Record<string, Uint8Array | string>} files  by path, with `/` */
export async function writeFiles (folder, files) {
  for (const [name, bytes] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), bytes)
  }
}

/**
 * Reads everything in a folder and below: the text of files, the targets of links.
 *
 * @param {string} folder
 * @returns {Promise<Record<string, string>>} by path, with `/`; folders end in one
 */
export async function filesBelow (folder) {
  const found = new Map()
  const visit = async prefix => {
    for (const entry of await readdir(join(folder, prefix), { withFileTypes: true })) {
      const key = prefix + entry.name
      const path = join(folder, key)
      if (entry.isDirectory()) {
        found.set(`${key}/`, '')
        await visit(`${key}/`)
      } else found.set(key, entry.isSymbolicLink() ? `-> ${await readlink(path)}` : await readFile(path, 'latin1'))
    }
  }
  await visit('')
  return Object.fromEntries([...found].sort(([a], [b]) => a < b ? -1 : 1))
}
