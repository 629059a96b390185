// The package as it is published: it installs, runs, and its types hold for who uses them.

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

const CONSUMER = `
import { ChunkRanges, hash, hashStream, toCid, walk } from 'baobox'
import { createOutboard, encodeSlice } from 'baobox/encoder'
import { SliceVerifier, verifyStream } from 'baobox/verifier'
import { BlobStore } from 'baobox/store'

const bytes: Uint8Array<ArrayBuffer> = hash(new Uint8Array(3))
const outboard = await createOutboard(new Blob([bytes]))
for await (const { offset, bytes: leaf } of verifyStream(encodeSlice(bytes, outboard), { root: outboard.root })) console.log(offset + leaf.length)
for (const step of walk(5000, 0, ChunkRanges.all)) console.log(step.kind, step.node)
const store: BlobStore = await BlobStore.open('somewhere', { durability: 'process' })
console.log(toCid(bytes).toString(), (await store.stat(bytes)).present.boundaries, new SliceVerifier({ root: bytes }).done)
// @ts-expect-error a number is no source
await hashStream(12345)
// @ts-expect-error there is no such option
await createOutboard(bytes, { nonsense: true })
`

describe('the package', () => {
  it('has types that hold, and runs', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'baobox-package-'))
    try {
      const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', directory], { cwd: ROOT })
      const packed = JSON.parse(stdout)
      const { filename } = Array.isArray(packed) ? packed[0] : Object.values(packed)[0]
      await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
      await writeFile(join(directory, 'consumer.ts'), CONSUMER)
      await run('npm', ['install', '--no-audit', '--no-fund', join(directory, filename)], { cwd: directory })
      const compiled = await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '--noEmit', '--strict', '--target', 'es2022',
        '--module', 'nodenext', '--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types'), 'consumer.ts'], { cwd: directory }).catch(error => error)
      expect(compiled.stdout).to.equal('')
      const { stdout: version } = await run(process.execPath, ['node_modules/baobox/bin/baobox.js', '--version'], { cwd: directory })
      expect(version.trim()).to.match(/\d+\.\d+\.\d+/)
    } finally {
      await rm(directory, { recursive: true })
    }
  })
})
