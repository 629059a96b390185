// The entry point `baobox/hash`: hashing alone. It loads in a third of the time of `baobox`, because it leaves out
// CIDs, outboards, slices, sources and threads. No file in lib imports it.

export { Hasher, deriveKey, hash, hashInto, keyedHash } from './hasher.js'
export { OutputReader } from './output.js'
export { kernelName, warmup } from '../engine/kernel/index.js'

/**
 * The `hashStream` of `baobox`. The first call loads its modules, which fails in a service worker: there `import()` is
 * not allowed. Source: HTML standard, "HostLoadImportedModule".
 *
 * @param {import('../core/types.js').Source} source
 * @param {Parameters<typeof import('../parallel/hash-source.js').hashStream>[1]} [options]
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function hashStream (source, options) {
  const { hashStream } = await import('../parallel/hash-source.js')
  return hashStream(source, options)
}
