// Measures the import and export of a folder of small files, beside tar, git and iroh-blobs.
//
// All of them read the same tree, of files from 0 to 8 KiB, 100 in a folder; the system has it in memory. `import` is
// importDirectory into a new store, which survives power cuts; `without sync` into one that survives only the end of
// the process, like the others; `again` finds in the file of known files that nothing has changed. `tar` writes an
// archive without compression, `git add` objects in a new repository. `iroh-blobs` imports into a new store like
// sendme, with the program in test/interop/iroh/peer, if cargo can compile it; quick runs leave it out. `export` is
// exportDirectory, compared with `tar x` and `git checkout-index`.

import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { base16 } from 'multiformats/bases/base16'
import { BlobStore } from '../store/index.js'
import { exportDirectory, importDirectory } from '../exchange/collections/node/index.js'
import { compileRelease, outputOf } from './support/cargo.js'
import { KiB, randomBytes } from './support/inputs.js'
import { flags, report } from './support/run.js'
import { inFolder } from './support/stores.js'

const FILES = flags.quick ? 200 : 100_000
const PER_FOLDER = 100
const MAX_LEN = 8 * KiB
const ROUNDS = flags.quick ? 1 : Number(flags.repeat ?? 3)
/** importDirectory does not remember files that have just changed: its comment says why. */
const SETTLE_MS = 2100

/** @param {string} folder @returns {number} bytes of all files */
function writeTree (folder) {
  const bytes = randomBytes(MAX_LEN)
  let total = 0
  for (let i = 0; i < FILES; i++) {
    const inner = join(folder, String(Math.floor(i / PER_FOLDER)))
    if (i % PER_FOLDER === 0) mkdirSync(inner, { recursive: true })
    new DataView(bytes.buffer).setUint32(0, i)
    const len = (i * 7919) % MAX_LEN
    const path = join(inner, `file ${i}`)
    writeFileSync(path, bytes.subarray(0, len))
    utimesSync(path, 1e9, 1e9)
    total += len
  }
  return total
}

/** @param {string} program @param {string[]} args @param {string} cwd */
const run = (program, args, cwd) => outputOf(program, args, { cwd })

/** @returns {string | undefined} the program with iroh-blobs */
function irohPeer () {
  if (flags.quick) return
  try {
    return compileRelease(new URL('../test/interop/iroh/peer/', import.meta.url), 'iroh-peer', 'iroh-peer')
  } catch (error) {
    console.error(`NOT MEASURED: iroh-blobs: ${error.message}`)
  }
}

const samples = /** @type {Record<'in' | 'out', Record<string, number[]>>} */ ({ in: {}, out: {} })
/** @param {'in' | 'out'} table @param {string} name @param {() => unknown} work */
async function timed (table, name, work) {
  const start = performance.now()
  await work()
  const list = samples[table][name] ??= []
  list.push((performance.now() - start) * 1e6)
}

const peer = irohPeer()
await inFolder(async folder => {
  const tree = join(folder, 'tree')
  const bytes = writeTree(tree)
  await new Promise(resolve => setTimeout(resolve, SETTLE_MS))
  for (let round = 0; round < ROUNDS; round++) {
    const at = (/** @type {string} */ name) => join(folder, `${name}-${round}`)
    const durable = await BlobStore.open(at('durable'))
    await timed('in', 'import', () => importDirectory(durable, tree, { tag: 'tree' }))
    await durable.close()
    const store = await BlobStore.open(at('store'), { durability: 'process' })
    const known = at('known')
    const options = { tag: 'tree', known }
    await timed('in', 'import, without sync', () => importDirectory(store, tree, options))
    await timed('in', 'import again', async () => {
      const { unread } = await importDirectory(store, tree, options)
      if (unread !== FILES) throw new Error(`${FILES - unread} files were read again`)
    })
    await timed('in', 'tar', () => run('tar', ['cf', at('tar'), 'tree'], folder))
    mkdirSync(at('git'))
    run('git', ['init', '-q'], at('git'))
    await timed('in', 'git add', () => run('git', [`--work-tree=${tree}`, 'add', '-A', '.'], at('git')))

    const { cid } = /** @type {{ cid: import('multiformats/cid').CID }} */ (await store.tags.get('tree'))
    if (peer !== undefined) {
      let hash = ''
      await timed('in', 'iroh-blobs', () => { hash = run(peer, ['import', tree, at('iroh')], folder) })
      if (hash.trim() !== base16.baseEncode(cid.multihash.digest)) throw new Error('iroh-blobs has another root')
      rmSync(at('iroh'), { recursive: true })
    }

    await timed('out', 'export', () => exportDirectory(store, cid, at('export')))
    mkdirSync(at('untar'))
    await timed('out', 'tar x', () => run('tar', ['xf', at('tar')], at('untar')))
    const prefix = `--prefix=${at('checkout')}/`
    await timed('out', 'git checkout-index', () => run('git', ['checkout-index', '-a', prefix], at('git')))
    await store.close()
    for (const name of ['durable', 'store', 'git', 'export', 'untar', 'checkout']) rmSync(at(name), { recursive: true })
    rmSync(at('tar'))
  }
  const title = `${FILES} files of up to ${MAX_LEN / KiB} KiB`
  report('directory', `${title}, from a folder`, [{ name: 'all files', bytes, unit: 'time', samples: samples.in }])
  report('directory', `${title}, to a folder`, [{ name: 'all files', bytes, unit: 'time', samples: samples.out }])
})
