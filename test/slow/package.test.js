// Tests the package as it is published: it can be installed, runs, and its types compile in a project that uses it.

import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { expect } from 'chai'
import { pairsOf, someOf } from '../support/effort.js'
import { undocumentedCalls, unnamedTypes } from '../support/signatures.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Folders that packing does not need, or makes. */
const NOT_COPIED = ['node_modules', '.git', 'coverage', 'dist', 'types']
/** The oldest TypeScript that the README promises. */
const LEAST_TYPESCRIPT = '5.7'
const TSC_OPTIONS = [
  '--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--types', 'node'
]
const run = promisify(execFile)
const install = (cwd, ...wanted) => run('npm', ['install', '--no-audit', '--no-fund', ...wanted], { cwd })
/** A name for one version of a package: one install of many versions takes less time than many installs. */
const placeOf = (name, version) => `${name}-${version}`.replace(/[^a-z0-9-]/g, '')
const typescriptAt = version => placeOf('typescript', version)
const nodeTypesAt = version => placeOf('node-types', version)

const CONSUMER = `
import { BaoError, ChunkRanges, hash, hashStream, kernelName, toCid, walk } from 'baobox'
import type { BaoErrorCode, RangesLike, Source, WalkStep } from 'baobox'
import { Hasher, hashStream as hashStreamAlone } from 'baobox/hash'
import { createOutboard, encodeSlice } from 'baobox/encoder'
import type * as encoder from 'baobox/encoder'
import { SliceVerifier, fetchVerified, httpSource, mirrorOf, verifyStream, verifyTransform } from 'baobox/verifier'
import type * as verifier from 'baobox/verifier'
import { BlobStore } from 'baobox/store'
import type * as stores from 'baobox/store'
import { asBlockstore } from 'baobox/blockstore'
import { download } from 'baobox/download'
import type { DownloadResult } from 'baobox/download'
import { copy, exportCar } from 'baobox/transfer'
import type { CopyResult } from 'baobox/transfer'
import { Collection, getCollection, putCollection } from 'baobox/collections'
import type { CollectionEntry } from 'baobox/collections'
import { diffDirectory, exportDirectory, importDirectory } from 'baobox/collections/node'
import type { DirectoryDifference, ImportDirectoryResult } from 'baobox/collections/node'
import { bearer, createHandler, createVerifiedFetch } from 'baobox/http'
import type { Handler, RequestEvent } from 'baobox/http'
import { serve } from 'baobox/http/node'
import { serveVerified } from 'baobox/service-worker'
import type { WorkerEvent } from 'baobox/service-worker'
import type { StoreServer } from 'baobox/http/node'
import { BucketStore, bucketMirror, memoryBucket } from 'baobox/bucket'
import type { BucketStoreOptions } from 'baobox/bucket'
import { irohMirror } from 'baobox/iroh'
import { testStore } from 'baobox/store/test'
import type { DatabasePair, Setting } from 'baobox/store/test'
import { sha256 } from 'multiformats/hashes/sha2'
import type { Blockstore } from 'interface-blockstore'
import { createReadStream, createWriteStream } from 'node:fs'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, it } from 'node:test'

const bytes: Uint8Array<ArrayBuffer> = hash(new Uint8Array(3))
await pipeline(createReadStream('slice'), verifyTransform({ cid: bytes }), createWriteStream('blob'))
await pipeline([bytes], verifyTransform({ cid: bytes, release: 'leaf' }), new Writable())
await pipeline(createReadStream('slice'), verifyTransform({ cid: bytes }), async source => {
  for await (const piece of source) console.log(piece.length)
})
const alone = await hashStreamAlone(new Blob([bytes]), { threads: 1 })
const kernel: 'simd-rows' | 'simd-words' | 'js' = kernelName()
const sum: Uint8Array<ArrayBuffer> = new Hasher().update(alone).digest()
const outboard = await createOutboard(new Blob([bytes, sum]))
const slice = encodeSlice(bytes, outboard)
for await (const { offset, bytes } of verifyStream(slice, { cid: outboard.root })) console.log(offset + bytes.length)
for (const step of walk(5000, 0, ChunkRanges.all)) console.log(step.kind, step.node)
const store: BlobStore = await BlobStore.open('somewhere', { durability: 'process' })
console.log(toCid(bytes).toString(), (await store.stat(bytes)).present.boundaries)
console.log(new SliceVerifier({ cid: bytes }).done, kernel)
const named = await putCollection(store, Collection.from([['name', bytes]]), { tag: 'names' })
const entries: CollectionEntry[] = [...await getCollection(store, named.cid)]
console.log(entries)
const folder: ImportDirectoryResult = await importDirectory(store, 'folder', { ignore: ['*.log'], known: 'known' })
await exportDirectory(store, folder.cid, 'copy', { mode: 'reflink' })
const differences: AsyncIterable<DirectoryDifference> = diffDirectory(store, folder.cid, 'folder')
for await (const { type, name } of differences) console.log(type, name)
const onRequest = ({ status, cid, error }: RequestEvent) => console.log(status, cid, error)
const handler: Handler = createHandler(store, { authorize: bearer('secret'), onRequest })
const answer: Response = await handler(new Request('http://localhost/blobs'))
const verifiedFetch: typeof fetch = createVerifiedFetch({ store, site: bytes, base: 'https://site.invalid/' })
serveVerified({ site: bytes, from: [verifiedFetch.name], onEvent: (event: WorkerEvent) => console.log(event.type) })
const server: StoreServer = await serve(store, { port: 0, list: answer.ok })
console.log(server.url, server.handler.stats().outcomes.complete)
await server.close({ grace: 5 })
await handler.close()
const fetched: DownloadResult = await download(store, bytes, { from: ['https://example.org/blobs/{cid}'] })
// The parameters of a mirror's functions have types, in an object, alone and in a list.
const mirror = mirrorOf({ slice: (cid, ranges) => store.slice(cid, ranges) })
const from = [mirrorOf(async (cid, ranges, { signal }) => store.slice(cid, ranges, { signal }))]
await fetchVerified({ slice: (cid, ranges) => store.slice(cid, ranges) }, { cid: bytes, from: [mirror, ...from] })
await download(store, bytes, {
  from: ['https://example.org/{cid}', { slice: (cid, ranges, { signal }) => store.slice(cid, ranges, { signal }) }]
})
const copied: CopyResult = await copy(store, await BlobStore.open('elsewhere'), { cids: [fetched.cid] })
for await (const event of store.watch()) {
  if (event.type === 'tagged') await store.tags.set(event.tag.trim(), event.cid)
  if (event.type === 'removed') console.log(event.cid.toString(), event.complete satisfies boolean)
}
const local: BucketStoreOptions = { local: 'local' }
const shared: stores.Store = await BucketStore.open(memoryBucket(), local)
await download(shared, bytes, { from: [bucketMirror(memoryBucket()), irohMirror('blobad')] })
for await (const piece of exportCar(store)) console.log(piece.length, copied.failed)
const blocks: Blockstore = asBlockstore(store, { hashers: [sha256] })
testStore({ describe, it, newPlace: () => 'somewhere else', removePlace: where => console.log(where, blocks) })
await httpSource('https://example.org', { headers: { accept: 'text/plain' } })

export type Named = [
  BaoErrorCode, RangesLike, Source, encoder.WrittenOutboard, verifier.Leaf, verifier.VerifyOptions,
  stores.BlobStat, stores.TempTag, DatabasePair, Setting
]

const nameOf = (step: WalkStep): 'enter' | 'leaf' | 'leave' => step.kind
for (const step of walk(5000)) nameOf(step)
export async function again (error: unknown) {
  if (error instanceof BaoError && error.code === 'STORE_MISSING' && error.ranges && error.cid) {
    await store.receive(error.cid, 'slice', error.ranges)
  }
  // @ts-expect-error this code does not exist
  return error instanceof BaoError && error.code === 'STORE_MISING'
}
// @ts-expect-error a number is not a source
await hashStream(12345)
// @ts-expect-error this option does not exist
await createOutboard(bytes, { nonsense: true })
`

/** A program for pages: it has the types of the DOM, and none of Node.js. */
const PAGE = `
import { hash } from 'baobox'
import { Hasher } from 'baobox/hash'
import { createOutboard } from 'baobox/encoder'
import { verifyStream, verifyTransform } from 'baobox/verifier'
import { asBlockstore } from 'baobox/blockstore'
import { BlobStore } from 'baobox/store'
import { fromMirrors } from 'baobox/download'
import { createHandler } from 'baobox/http'
import { serveVerified } from 'baobox/service-worker'
import { testStore } from 'baobox/store/test'

serveVerified({ site: 'bafkr4i', from: ['blobs/{cid}'] })
const response = await fetch('https://example.org/slice')
const through = response.body!.pipeThrough(verifyTransform({ cid: hash(new Uint8Array(3)) }))
const blob: Blob = await new Response(through).blob()
const { cid } = await createOutboard(blob)
for await (const leaf of verifyStream(blob, { cid, ranges: { start: 1 }, exact: false })) console.log(leaf.offset)
const store = await BlobStore.open('blobs', { supply: fromMirrors(['https://example.org/{cid}']) })
console.log(new Hasher().update(await store.bytes(cid)), asBlockstore(store), createHandler, testStore)
`

const PAGE_OPTIONS = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    exactOptionalPropertyTypes: true,
    types: [],
    lib: ['ES2022', 'DOM'],
    target: 'es2022',
    module: 'nodenext'
  },
  files: ['page.ts']
}

/** Types that are not exported on purpose: only the store itself calls the methods with them. */
const OF_THE_STORE = ['Protection, of TempTag', 'Tag, of BucketTags', 'Version, of BucketTags']

/** The test suite for stores, as a user of the package runs it. */
const TESTS = `
import { mkdtemp, rm } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { testStore } from 'baobox/store/test'

const removePlace = location => rm(location, { recursive: true })
testStore({ describe, it, newPlace: () => mkdtemp('place-'), removePlace })
`

describe('the package', () => {
  it('has types that compile, and runs', async () => {
    const directory = await realpath(await mkdtemp(join(tmpdir(), 'baobox-package-')))
    try {
      // Packing writes `dist` and `types`, and other suites may read or pack this checkout at the same time.
      const checkout = join(directory, 'checkout')
      await cp(ROOT, checkout, { recursive: true, filter: path => !NOT_COPIED.includes(basename(path)) })
      await symlink(join(ROOT, 'node_modules'), join(checkout, 'node_modules'), 'junction')
      const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', directory], { cwd: checkout })
      const packed = JSON.parse(stdout)
      const { filename } = Array.isArray(packed) ? packed[0] : Object.values(packed)[0]
      await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
      await writeFile(join(directory, 'consumer.ts'), CONSUMER)
      await writeFile(join(directory, 'store.test.js'), TESTS)
      const { devDependencies, exports } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
      const newest = devDependencies.typescript
      const compileBy = (typescript, ...args) => {
        const tsc = join(directory, 'node_modules', typescriptAt(typescript), 'bin/tsc')
        return run(process.execPath, [tsc, ...args], { cwd: directory }).catch(error => error)
      }
      // A project for pages: without types of Node.js, and without what only some projects have.
      await install(directory, join(directory, filename), ...[LEAST_TYPESCRIPT, newest].map(version =>
        `${typescriptAt(version)}@npm:typescript@${version}`))
      const installed = join(directory, 'node_modules/baobox')
      expect(await readFile(join(installed, 'dist/service-worker.js'), 'utf8')).to.include('serveVerified')
      const types = join(installed, 'types')
      const files = Object.values(exports).filter(entry => entry.types).map(entry => join(installed, entry.types))
      expect(unnamedTypes(files, types).filter(mention => !OF_THE_STORE.includes(mention))).to.deep.equal([])
      expect(undocumentedCalls(files)).to.deep.equal([])
      await writeFile(join(directory, 'page.ts'), PAGE)
      await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(PAGE_OPTIONS))
      // Without `skipLibCheck`, so that the types of the package are checked.
      for (const typescript of [newest, LEAST_TYPESCRIPT]) {
        expect((await compileBy(typescript)).stdout, `in pages, by TypeScript ${typescript}`).to.equal('')
      }
      const versions = [20, 22, 24, devDependencies['@types/node']]
      const blockstore = `interface-blockstore@${devDependencies['interface-blockstore']}`
      await install(directory, blockstore, ...versions.map(version =>
        `${nodeTypesAt(version)}@npm:@types/node@${version}`))
      const libs = ['es2022,esnext.disposable', 'es2023,esnext.disposable,dom,dom.asynciterable']
      const nodeTypes = join(directory, 'node_modules/@types/node')
      await mkdir(dirname(nodeTypes), { recursive: true })
      for (const [version, lib] of pairsOf(someOf(versions), libs)) {
        await rename(join(directory, 'node_modules', nodeTypesAt(version)), nodeTypes)
        const { stdout } = await compileBy(LEAST_TYPESCRIPT, ...TSC_OPTIONS, '--lib', lib, 'consumer.ts')
        const what = `by TypeScript ${LEAST_TYPESCRIPT} with ${lib} and the types of Node.js ${version}`
        expect(stdout, what).to.equal('')
        await rename(nodeTypes, join(directory, 'node_modules', nodeTypesAt(version)))
      }
      await rename(join(directory, 'node_modules', nodeTypesAt(versions.at(-1))), nodeTypes)
      const { stdout: compiled } =
        await compileBy(newest, '--ignoreConfig', ...TSC_OPTIONS, '--lib', 'es2023', 'consumer.ts')
      expect(compiled).to.equal('')
      const testing = ['--test', '--test-reporter', 'tap', 'store.test.js']
      const { stdout: tests } = await run(process.execPath, testing, { cwd: directory }).catch(error => error)
      expect(tests).to.match(/^# pass [4-9][0-9]$/m).and.match(/^# fail 0$/m)
      const page = { contents: "export * from 'baobox/store'", resolveDir: directory }
      const options = { bundle: true, format: 'esm', platform: 'browser', write: false, logLevel: 'silent' }
      const { errors, outputFiles } = await build({ stdin: page, ...options }).catch(error => error)
      expect(errors.map(({ text }) => text), 'what the bundler does not find').to.deep.equal([])
      expect(outputFiles[0].text).to.include('indexedDB')
      const program = 'node_modules/baobox/bin/baobox.js'
      const { stdout: version } = await run(process.execPath, [program, '--version'], { cwd: directory })
      expect(version.trim()).to.match(/\d+\.\d+\.\d+/)
    } finally {
      await rm(directory, { recursive: true })
    }
  })
})
