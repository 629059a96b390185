// Things that may be where a store expects a regular file or a folder, and the foreign files that links lead to.
import { execFileSync } from 'node:child_process'
import { chmod, link, lstat, mkdir, mkdtemp, open, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { expect } from 'chai'
import { same } from '../bytes.js'
import { noise } from '../inputs.js'

export const IS_WINDOWS = process.platform === 'win32'
const VICTIM_LEN = 20_000
/** Bytes of a sparse file, which takes no space. */
const SPARSE_LEN = 2 ** 40

/**
 * Things by name; `make` makes one at a path. `isFile`: a regular file; `isFolder`: a folder, which a store may take
 * for its own.
 *
 * @type {Record<string, { isFile?: boolean, isFolder?: boolean, make: (path: string, victims: Victims) =>
 *   Promise<unknown> }>}
 */
const ALL = {
  nothing: { isFile: true, isFolder: true, make: async () => {} },
  'a link to a file': { make: (path, { file }) => symlink(file, path) },
  'a link to a folder': { make: (path, { folder }) => symlink(folder, path) },
  'a link to nothing': { make: (path, { folder }) => symlink(join(folder, 'nothing'), path) },
  'a link to itself': { make: path => symlink(path, path) },
  'a folder': {
    isFolder: true,
    make: async path => {
      await mkdir(path)
      await writeFile(join(path, '0'), 'a file in it')
    }
  },
  'a pipe': { make: async path => execFileSync('mkfifo', [path]) },
  'a socket': { make: (path, victims) => victims.listen(path) },
  'an unreadable file': {
    isFile: true,
    make: async path => {
      await writeFile(path, 'secret')
      await chmod(path, 0)
    }
  },
  'a hard link to a file': { isFile: true, make: (path, { file }) => link(file, path) },
  'an empty file': { isFile: true, make: path => writeFile(path, '') },
  'a huge file of nothing but zeros': {
    isFile: true,
    make: async path => {
      const file = await open(path, 'w')
      await file.truncate(SPARSE_LEN).finally(() => file.close())
    }
  }
}

const ON_WINDOWS = ['nothing', 'a folder', 'a hard link to a file', 'an empty file']
/** Those that can be made here. Root can read every file, so it has no unreadable one. */
export const ODD_THINGS = Object.fromEntries(Object.entries(ALL).filter(([name]) =>
  (!IS_WINDOWS || ON_WINDOWS.includes(name)) && (name !== 'an unreadable file' || process.getuid?.() !== 0)))

/** A file and a folder that do not belong to the store. */
export class Victims {
  #place
  #servers = /** @type {import('node:net').Server[]} */ ([])
  #contents = /** @type {Map<string, Uint8Array>} */ (new Map())
  file
  /** Its files have the names of blob files. */
  folder

  /** @param {string} place */
  constructor (place) {
    this.#place = place
    this.file = join(place, 'victim')
    this.folder = join(place, 'victims')
  }

  static async make () {
    const victims = new Victims(await mkdtemp(join(tmpdir(), 'baobox-')))
    await mkdir(victims.folder)
    const paths = [victims.file, ...['0', '1', '2', '3', '777'].map(name => join(victims.folder, name))]
    for (const [i, path] of paths.entries()) {
      victims.#contents.set(path, noise(VICTIM_LEN, 900 + i))
      await writeFile(path, noise(VICTIM_LEN, 900 + i))
    }
    return victims
  }

  /** @param {string} path  the socket to listen on */
  listen (path) {
    const server = createServer()
    this.#servers.push(server)
    return new Promise((resolve, reject) => server.once('error', reject).listen(path, () => resolve(undefined)))
  }

  /** @param {string} after  the action that must not have changed them, for the message */
  async expectUnharmed (after) {
    for (const [path, bytes] of this.#contents) {
      if (!same(new Uint8Array(await readFile(path)), bytes)) expect.fail(`${path} was changed by ${after}`)
    }
    expect(await readdir(this.folder), after).to.have.length(this.#contents.size - 1)
  }

  async remove () {
    for (const server of this.#servers) await new Promise(resolve => server.close(resolve))
    await rm(this.#place, { recursive: true })
  }
}

/**
 * Returns the mode of the thing at a path, its type and permissions; undefined if nothing is there.
 *
 * @param {string} path
 * @returns {Promise<number | undefined>}
 */
export const kindOf = async path => (await lstat(path).catch(() => undefined))?.mode
