// Files as sources.
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { hash, hashStream } from '../../lib/index.js'
import { toRandomAccess } from '../../lib/source.js'
import { errorOf } from '../support/feeding.js'
import { noise } from '../support/inputs.js'

describe('files', () => {
  it('are read to their end, pipes and files without a size too', async () => {
    const bytes = noise(3_000_000)
    const directory = await mkdtemp(join(tmpdir(), 'baobox-source-'))
    try {
      const path = join(directory, 'pipe')
      execFileSync('mkfifo', [path])
      const [read] = await Promise.all([hashStream(path), writeFile(path, bytes)])
      expect(read).to.deep.equal(hash(bytes))
      await writeFile(join(directory, 'file'), bytes)
      expect(await hashStream(join(directory, 'file'))).to.deep.equal(hash(bytes))
      await writeFile(join(directory, 'empty'), '')
      expect(await hashStream(join(directory, 'empty'))).to.deep.equal(hash(new Uint8Array(0)))
      expect(await errorOf(toRandomAccess('/dev/null'))).to.be.instanceOf(TypeError)
    } finally {
      await rm(directory, { recursive: true })
    }
  })
})
