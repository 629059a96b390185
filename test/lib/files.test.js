// Files as sources.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { hash, hashStream } from '../../lib/index.js'
import { toRandomAccess } from '../../lib/source.js'
import { errorOf } from '../support/feeding.js'
import { noise } from '../support/inputs.js'

const run = promisify(execFile)

describe('files', () => {
  it('are read to their end, pipes and files without a size too', async () => {
    const bytes = noise(3_000_000)
    const directory = await mkdtemp(join(tmpdir(), 'baobox-source-'))
    try {
      const [pipe, file, empty] = ['pipe', 'file', 'empty'].map(name => join(directory, name))
      await writeFile(file, bytes)
      expect(await hashStream(file)).to.deep.equal(hash(bytes))
      await run('mkfifo', [pipe])
      const [read] = await Promise.all([hashStream(pipe), run('sh', ['-c', 'cat "$0" > "$1"', file, pipe])])
      expect(read).to.deep.equal(hash(bytes))
      await writeFile(empty, '')
      expect(await hashStream(empty)).to.deep.equal(hash(new Uint8Array(0)))
      expect(await errorOf(toRandomAccess('/dev/null'))).to.be.instanceOf(TypeError)
    } finally {
      await rm(directory, { recursive: true })
    }
  })
})
