// Measures the import of one long file into a store, and of forty.
//
// `importFile` in each mode is compared with hashing the same file, and with a `put` of its path, which reads and
// writes it on one thread. For the forty, importDirectory is compared with `git add` and with `cp -r`, which does not
// wait for the disk. TMPDIR says on which disk the store is: some disks make files that share blocks, and then `copy`
// copies nothing. The files are in the page cache.

import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hashStream } from '../lib/index.js'
import { BlobStore } from '../store/index.js'
import { importDirectory } from '../exchange/collections/node/index.js'
import { GiB, MiB, randomBytes, sized } from './support/inputs.js'
import { flags, report } from './support/run.js'
import { inFolder } from './support/stores.js'

const SIZE = flags.quick ? 16 * MiB : GiB
const FILES = 40
const FILE_LEN = Math.ceil(SIZE / FILES)
const ROUNDS = flags.quick ? 1 : Number(flags.repeat ?? 5)

/** @typedef {Record<string, () => unknown>} Ways */

/** Times work in a store of its own. @param {string} folder @param {(store: BlobStore) => Promise<unknown>} work */
const inStore = (folder, work) => async () => {
  const store = await BlobStore.open(join(folder, 'store'))
  const begun = performance.now()
  await work(store)
  const ms = performance.now() - begun
  await store.close()
  rmSync(join(folder, 'store'), { recursive: true })
  return ms
}

/** @param {string} path @param {number} len */
function writeRandom (path, len) {
  const pieces = []
  for (let at = 0; at < len; at += MiB) pieces.push(randomBytes(Math.min(MiB, len - at)))
  writeFileSync(path, Buffer.concat(pieces))
}

/** @param {string} folder @returns {Ways} */
function ofOneFile (folder) {
  const path = join(folder, 'file')
  writeRandom(path, SIZE)
  return {
    'put, path': inStore(folder, store => store.put(path)),
    'importFile, copy': inStore(folder, store => store.importFile(path)),
    'importFile, reference': inStore(folder, store => store.importFile(path, { mode: 'reference' })),
    hashStream: () => hashStream(path)
  }
}

/** @param {string} folder @returns {Ways} */
function ofManyFiles (folder) {
  const tree = join(folder, 'tree')
  mkdirSync(tree)
  for (let i = 0; i < FILES; i++) writeRandom(join(tree, `${i}`), FILE_LEN)
  const run = (/** @type {string} */ program, /** @type {string[]} */ ...args) =>
    execFileSync(program, args, { cwd: folder, stdio: 'ignore' })
  return {
    'import, copy': inStore(folder, store => importDirectory(store, tree)),
    'import, reference': inStore(folder, store => importDirectory(store, tree, { mode: 'reference' })),
    'git add': () => {
      run('git', 'init', '-q', 'git')
      const begun = performance.now()
      run('git', '--git-dir=git/.git', `--work-tree=${tree}`, 'add', '-A', '.')
      const ms = performance.now() - begun
      rmSync(join(folder, 'git'), { recursive: true })
      return ms
    },
    'cp -r': () => {
      const begun = performance.now()
      run('cp', '-r', 'tree', 'copied')
      const ms = performance.now() - begun
      rmSync(join(folder, 'copied'), { recursive: true })
      return ms
    }
  }
}

const QUESTIONS = {
  [`a file of ${sized(SIZE)}`]: ofOneFile,
  [`${FILES} files of ${sized(FILE_LEN)}`]: ofManyFiles
}

for (const [question, prepare] of Object.entries(QUESTIONS)) {
  await inFolder(async folder => {
    const ways = prepare(folder)
    const samples = /** @type {Record<string, number[]>} */ ({})
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, way] of Object.entries(ways)) {
        const begun = performance.now()
        const ms = await way()
        const took = typeof ms === 'number' ? ms : performance.now() - begun
        samples[name] = [...samples[name] ?? [], took * 1e6]
      }
    }
    report('store-import', question, [{ name: 'all bytes', bytes: SIZE, unit: 'time', samples }])
  })
}
