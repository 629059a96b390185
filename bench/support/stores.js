// Compares our store with others of the same purpose. Each is opened in a folder of its own and closed
// again. Besides the time, the bytes that were written to the disk and the memory are recorded.

import { spawnSync } from 'node:child_process'
import {
  closeSync, fsyncSync, mkdirSync, mkdtempSync, openSync, readFileSync, readSync, renameSync, rmSync, writeFileSync,
  writeSync
} from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Hasher, hash, toCid } from '../../lib/index.js'
import { BlobStore } from '../../store/index.js'
import { installPeers } from './peers.js'
import { shuffled } from './measure.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Result } from './tables.js' */

/** The blocks into which a long blob is cut for stores without long values: the default of Helia. */
const BLOCK_LEN = 1 << 20

/**
 * A store that can be measured. All stores name blobs by our hash, if they need a name.
 *
 * @typedef {object} Contestant
 * @property {(folder: string) => Promise<OpenStore>} open
 */
/**
 * @typedef {object} OpenStore
 * @property {(blobs: Uint8Array[]) => Promise<unknown>} putMany  many small ones
 * @property {(pieces: () => AsyncIterable<Uint8Array>) => Promise<Name>} put  a long one, in pieces
 * @property {(name: Name, use: (piece: Uint8Array) => void) => Promise<unknown>} get
 * @property {(name: Name) => Promise<unknown>} getSmall  by its CID
 * @property {(cids: CID[]) => Promise<unknown>} getMany  small ones
 * @property {(name: Name, start: number, len: number, verify: boolean) => Promise<Uint8Array>} [range]
 * @property {(name: Name, slice: AsyncIterable<Uint8Array>) => Promise<unknown>} [receive]
 * @property {() => Promise<unknown>} close
 */
/** @typedef {any} Name  the value by which a store finds the blob again */

/** @returns {Promise<Record<string, Contestant['open']>>} ours first */
export async function contestants () {
  return {
    baobox: folder => ours(folder, { durability: 'sync' }),
    'baobox, without sync': folder => ours(folder, { durability: 'process' }),
    ...await peers(),
    'plain files, fsync': folder => files(folder, true),
    'plain files': folder => files(folder, false)
  }
}

/** Ours, whose pieces are borrowed until the next one. @param {string} folder */
export const lending = folder => ours(folder, {}, { reuse: true })

/**
 * @param {string} folder
 * @param {import('../../store/open.js').StoreOptions} options
 * @param {{ reuse?: boolean }} [reading]
 * @returns {Promise<OpenStore>}
 */
async function ours (folder, options, reading) {
  const store = await BlobStore.open(folder, options)
  return {
    async putMany (blobs) {
      for await (const { cid } of store.putMany(blobs)) if (cid === undefined) throw new Error('not put')
    },
    put: async pieces => (await store.put(pieces())).cid,
    get: async (cid, use) => { for await (const piece of store.get(cid, undefined, reading)) use(piece) },
    getSmall: cid => store.bytes(cid),
    getMany: async cids => { for await (const { error } of store.getMany(cids)) if (error) throw error },
    range: (cid, start, len, verify) => store.bytes(cid, { start, end: start + len }, { verify }),
    receive: (cid, slice) => store.receive(cid, slice),
    close: () => store.close()
  }
}

/** Names a block by its contents, which is part of the work. @param {Uint8Array} bytes */
const cidOf = bytes => toCid(hash(bytes))

/** The peers that can be loaded. Others are named on stderr. @returns {Promise<Record<string, Contestant['open']>>} */
async function peers () {
  installPeers()
  const found = /** @type {Record<string, Contestant['open']>} */ ({})
  for (const [name, load] of Object.entries(PEERS)) {
    try {
      found[name] = await load()
    } catch (error) {
      console.error(`NOT MEASURED: ${name}: ${/** @type {Error} */ (error).message}`)
    }
  }
  return found
}

/** @type {Record<string, () => Promise<Contestant['open']>>} */
const PEERS = {
  async 'blockstore-level' () {
    const { LevelBlockstore } = await import('blockstore-level')
    return folder => blocks(new LevelBlockstore(folder))
  },
  async 'blockstore-fs' () {
    const { FsBlockstore } = await import('blockstore-fs')
    return folder => blocks(new FsBlockstore(folder))
  },
  async cacache () {
    const { default: cacache } = await import('cacache')
    return async folder => ({
      putMany: async blobs => { for (const bytes of blobs) await cacache.put(folder, String(cidOf(bytes)), bytes) },
      put: async pieces => {
        const into = cacache.put.stream(folder, 'blob')
        const done = new Promise((resolve, reject) => into.on('error', reject).on('finish', resolve))
        let drained = (/** @type {unknown} */ _) => {}
        into.on('drain', () => drained(undefined)) // one listener: its streams keep those that were meant for once
        for await (const piece of pieces()) {
          if (!into.write(Buffer.from(piece))) await new Promise(resolve => { drained = resolve })
        }
        into.end()
        await done
        return 'blob'
      },
      get: async (name, use) => { for await (const piece of cacache.get.stream(folder, name)) use(piece) },
      getSmall: async cid => (await cacache.get(folder, String(cid))).data,
      getMany: async cids => { for (const cid of cids) await cacache.get(folder, String(cid)) },
      close: async () => {}
    })
  }
}

/** An `interface-blockstore`: long blobs in blocks. @param {any} store @returns {Promise<OpenStore>} */
async function blocks (store) {
  await store.open()
  const get = async (/** @type {any} */ cid) => {
    let len = 0
    for await (const piece of store.get(cid)) len += piece.length
    return len
  }
  return {
    async putMany (blobs) {
      const blocks = blobs.map(bytes => ({ cid: cidOf(bytes), bytes }))
      for await (const cid of store.putMany(blocks)) if (!cid) throw new Error('not put')
    },
    put: async pieces => {
      const cids = []
      for await (const piece of pieces()) {
        for (let at = 0; at < piece.length; at += BLOCK_LEN) {
          // A copy, because the store owns it until it is written.
          const block = piece.slice(at, at + BLOCK_LEN)
          cids.push(cidOf(block))
          await store.put(cids.at(-1), block)
        }
      }
      return cids
    },
    get: async (cids, use) => { for (const cid of cids) for await (const piece of store.get(cid)) use(piece) },
    getSmall: get,
    async getMany (cids) {
      for await (const { bytes } of store.getMany(cids)) {
        for await (const piece of bytes) if (piece.length === 0) throw new Error('empty')
      }
    },
    close: async () => store.close()
  }
}

/**
 * Does what a program would do without a store: write a file, and rename it to its hash.
 *
 * @param {string} folder
 * @param {boolean} syncs
 * @returns {Promise<OpenStore>}
 */
async function files (folder, syncs) {
  mkdirSync(folder, { recursive: true })
  const pathOf = (/** @type {string} */ name) => join(folder, name)
  const part = pathOf('part')
  const end = (/** @type {number} */ file, /** @type {string} */ name) => {
    if (syncs) fsyncSync(file)
    closeSync(file)
    renameSync(part, pathOf(name))
    return name
  }
  return {
    putMany: async blobs => {
      for (const bytes of blobs) {
        if (!syncs) {
          writeFileSync(part, bytes)
          renameSync(part, pathOf(String(cidOf(bytes))))
          continue
        }
        const file = openSync(part, 'w')
        writeSync(file, bytes)
        end(file, String(cidOf(bytes)))
      }
    },
    put: async pieces => {
      const hasher = new Hasher()
      const file = openSync(part, 'w')
      for await (const piece of pieces()) {
        hasher.update(piece)
        writeSync(file, piece)
      }
      return end(file, String(toCid(hasher.digest())))
    },
    get: async (name, use) => {
      const file = openSync(pathOf(name))
      const buffer = new Uint8Array(BLOCK_LEN)
      for (let len; (len = readSync(file, buffer)) > 0;) use(buffer.subarray(0, len))
      closeSync(file)
    },
    getSmall: cid => readFile(pathOf(String(cid))),
    getMany: async cids => { for (const cid of cids) await readFile(pathOf(String(cid))) },
    close: async () => {}
  }
}

/** @typedef {{ ns: number[], written: number[], memory: number[] }} Costs  by round */

/**
 * Does a job with every contestant, round by round, each time in an empty folder, in another order each time.
 *
 * @template {{ close: () => Promise<unknown> }} Store
 * @param {Record<string, (folder: string) => Promise<Store>>} contestants
 * @param {number} rounds
 * @param {(store: Store, name: string) => Promise<unknown>} job  timed
 * @param {(store: Store, name: string) => Promise<unknown>} [prepare]  called before, not timed
 * @returns {Promise<Record<string, Costs>>}
 */
export async function measureStores (contestants, rounds, job, prepare) {
  const empty = Object.keys(contestants).map(name => [name, { ns: [], written: [], memory: [] }])
  const costs = /** @type {Record<string, Costs>} */ (Object.fromEntries(empty))
  for (let round = 0; round < rounds; round++) {
    for (const name of shuffled(Object.keys(contestants))) {
      await inFolder(async folder => {
        const store = await contestants[name](join(folder, 'store'))
        await prepare?.(store, name)
        settleDisk()
        const before = bytesWritten()
        const peak = peakMemory()
        const start = performance.now()
        await job(store, name)
        costs[name].ns.push((performance.now() - start) * 1e6)
        costs[name].memory.push(peak())
        await store.close() // finishes its pending writes
        costs[name].written.push(bytesWritten() - before)
      })
    }
  }
  return costs
}

/** Waits for writes that the last contestant left to the system, so that the next does not. */
function settleDisk () {
  if (hasProc) spawnSync('sync')
}

/** @template T @param {(folder: string) => Promise<T>} work  on a folder that is removed afterwards */
export async function inFolder (work) {
  const folder = mkdtempSync(join(tmpdir(), 'baobox-bench-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * One table row for the time, one for the bytes written to the disk, one for memory.
 *
 * @param {string} name @param {number} bytes  of the job @param {Record<string, Costs>} costs
 * @param {{ disk?: boolean, unit?: Result['unit'] }} [options]  `disk`: true if anything was written
 * @returns {Result[]}
 */
export function costRows (name, bytes, costs, { disk = true, unit = 'speed' } = {}) {
  const of = (/** @type {keyof Costs} */ what, by = 1) => Object.fromEntries(
    Object.entries(costs).map(([contestant, cost]) => [contestant, cost[what].map(figure => figure / by)]))
  return [
    { name, bytes, unit, samples: of('ns') },
    ...hasProc && disk ? [({ name: 'written per byte', bytes, unit: 'times', samples: of('written', bytes) })] : [],
    ...hasProc ? [({ name: 'peak memory', bytes, unit: 'megabytes', samples: of('memory') })] : []
  ]
}

const hasProc = process.platform === 'linux'

/** Bytes that this process has written to the file system. */
const bytesWritten = () => hasProc ? Number(/^wchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]) : 0

/** Begins to watch the resident memory. @returns {() => number} its largest growth in bytes */
function peakMemory () {
  if (!hasProc) return () => 0
  globalThis.gc?.()
  writeFileSync('/proc/self/clear_refs', '5') // the high-water mark starts again
  const before = statusOf('VmRSS')
  return () => Math.max(1, statusOf('VmHWM') - before)
}

/** @param {string} field @returns {number} bytes */
const statusOf = field =>
  1024 * Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1])
