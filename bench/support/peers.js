// The packages with which ours is compared. They are dependencies of this folder only, and are installed when a bench
// first needs them.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { MiB } from './inputs.js'

const FOLDER = new URL('../', import.meta.url)

/**
 * The functions of a package, in one shape. Missing ones are left out.
 *
 * @typedef {object} Functions
 * @property {(bytes: Uint8Array) => Uint8Array} hash
 * @property {(bytes: Uint8Array, out: Uint8Array) => void} [hashInto]
 * @property {(key: Uint8Array, bytes: Uint8Array) => Uint8Array} [keyedHash]
 * @property {(context: string, material: Uint8Array) => Uint8Array} [deriveKey]
 * @property {() => Incremental} [incremental]
 * @property {(key: Uint8Array) => Resettable} [keyed]
 */
/** @typedef {{ update (bytes: Uint8Array): unknown, digest (): Uint8Array }} Incremental */
/** @typedef {Incremental & { reset (): unknown }} Resettable */

/**
 * @typedef {object} Peer
 * @property {string} specifier  of the import
 * @property {(module: any) => Functions | Promise<Functions>} use as its own documents say, in the quickest way they
 *  offer
 * @property {boolean} [isNative]  compiled for this machine: shown for scale, and not a rival of JavaScript
 * @property {boolean} [isOther]  another hash function, shown for scale
 * @property {number} [upTo]  bytes; longer inputs would take too long
 */

const utf8 = new TextEncoder()

/** @type {Record<string, Peer>} */
export const PEERS = {
  'blake3-jit': { specifier: 'blake3-jit', use: jit },
  '@huggingface/blake3-jit': {
    specifier: '@huggingface/blake3-jit',
    use: module => ({
      ...jit(module),
      keyed: key => {
        const hasher = module.createKeyed(key)
        return {
          reset: () => hasher.reset(),
          update: bytes => hasher.update(bytes),
          digest: () => hasher.finalize()
        }
      }
    })
  },
  'blake3-wasm': {
    specifier: 'blake3-wasm',
    use: ({ default: { createHash, hash, keyedHash, deriveKey } }) => ({
      hash,
      keyedHash,
      deriveKey,
      incremental: createHash
    })
  },
  '@fuzdev/blake3_wasm': {
    specifier: '@fuzdev/blake3_wasm',
    use: ({ hash, keyed_hash: keyedHash, derive_key: deriveKey, Blake3Hasher }) => ({
      hash,
      keyedHash,
      deriveKey,
      incremental: () => {
        const hasher = new Blake3Hasher()
        return {
          update: bytes => hasher.update(bytes),
          digest () {
            const digest = hasher.finalize()
            hasher.free()
            return digest
          }
        }
      }
    })
  },
  'hash-wasm': {
    specifier: 'hash-wasm',
    use: async ({ createBLAKE3 }) => {
      const hasher = await createBLAKE3()
      return {
        hash: bytes => hasher.init().update(bytes).digest('binary'),
        incremental: () => {
          hasher.init()
          return { update: bytes => hasher.update(bytes), digest: () => hasher.digest('binary') }
        }
      }
    }
  },
  '@webbuf/blake3': {
    specifier: '@webbuf/blake3',
    use: async ({ blake3Hash, blake3Mac }) => {
      const parts = ['@webbuf/webbuf', '@webbuf/fixedbuf'].map(name => import(name))
      const [{ WebBuf }, { FixedBuf }] = await Promise.all(parts)
      return {
        hash: bytes => blake3Hash(bytes).buf,
        keyedHash: (key, bytes) => blake3Mac(FixedBuf.fromBuf(32, WebBuf.fromUint8Array(key)), bytes).buf
      }
    }
  },
  '@noble/hashes': {
    specifier: '@noble/hashes/blake3.js',
    upTo: MiB,
    use: ({ blake3 }) => ({
      hash: blake3,
      keyedHash: (key, bytes) => blake3(bytes, { key }),
      deriveKey: (context, material) => blake3(material, { context: utf8.encode(context) }),
      incremental: () => blake3.create()
    })
  },
  '@napi-rs/blake-hash': {
    specifier: '@napi-rs/blake-hash',
    isNative: true,
    use: ({ blake3, Blake3Hasher }) => ({
      hash: blake3,
      keyedHash: (key, bytes) => Blake3Hasher.newKeyed(Buffer.from(key)).update(bytes).digestBuffer(),
      deriveKey: Blake3Hasher.deriveKey,
      incremental: () => {
        const hasher = new Blake3Hasher()
        return { update: bytes => hasher.update(bytes), digest: () => hasher.digestBuffer() }
      }
    })
  },
  'sha256 (node:crypto)': {
    specifier: 'node:crypto',
    isNative: true,
    isOther: true,
    use: ({ createHash, hash }) => ({
      hash: bytes => hash('sha256', bytes, 'buffer'),
      incremental: () => createHash('sha256')
    })
  }
}

/** The functions of blake3-jit, and of packages made of it. @param {any} module @returns {Functions} */
function jit ({ hash, hashInto, createHasher, createKeyed, createDeriveKey }) {
  return {
    hash,
    hashInto,
    keyedHash: (key, bytes) => createKeyed(key).update(bytes).finalize(),
    deriveKey: (context, material) => createDeriveKey(context).update(material).finalize(),
    incremental: () => {
      const hasher = createHasher()
      return { update: bytes => hasher.update(bytes), digest: () => hasher.finalize() }
    }
  }
}

/** The packages with which stores are compared, in stores.js. */
const STORES = ['blockstore-level', 'blockstore-fs', 'cacache']

/** The packages with which the server is compared, in serve-job.js. */
const SERVERS = ['sirv']

/** Peers that are JavaScript or WebAssembly, and BLAKE3: the quickest of them is the one to beat. */
export const RIVALS = Object.keys(PEERS).filter(name => !PEERS[name].isNative)

/**
 * Loads the peers that can be loaded. Missing ones are named on stderr.
 *
 * @param {string[]} [names]
 * @returns {Promise<Record<string, Functions>>}
 */
export async function loadPeers (names = Object.keys(PEERS)) {
  installPeers()
  /** @type {Record<string, Functions>} */
  const peers = {}
  for (const name of names) {
    try {
      const { specifier, use } = PEERS[name]
      peers[name] = await use(await import(specifier))
    } catch (error) {
      console.error(`NOT MEASURED: ${name}: ${/** @type {Error} */ (error).message}`)
    }
  }
  return peers
}

/** Runs npm once if a peer is missing. If that fails, benches go on with the peers that there are. */
export function installPeers () {
  const wanted = [...Object.values(PEERS).map(({ specifier }) => packageOf(specifier)), ...STORES, ...SERVERS]
  const missing = wanted.filter(name => !isInstalled(name))
  if (missing.length === 0 || process.env[TRIED]) return
  process.env[TRIED] = 'yes'
  console.error(`peers missing: ${missing.join(', ')}; running npm install in bench/`)
  const isWindows = process.platform === 'win32' // npm is a script on Windows, which only a shell starts
  const patience = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-timeout=60000']
  const { status, error } = spawnSync('npm', ['install', '--no-audit', '--no-fund', ...patience],
    { cwd: fileURLToPath(FOLDER), stdio: ['ignore', 2, 2], shell: isWindows })
  if (status !== 0) console.error(`npm install failed (${error?.message ?? `exit code ${status}`}): going on without`)
}

/** Processes that this one starts also see it, and do not try again. */
const TRIED = 'BAOBOX_BENCH_TRIED_INSTALL'

/** @param {string} specifier */
const packageOf = specifier => specifier.split('/').slice(0, specifier.startsWith('@') ? 2 : 1).join('/')

/** @param {string} name */
const isInstalled = name => name.startsWith('node:') || existsSync(new URL(`node_modules/${name}/package.json`, FOLDER))
