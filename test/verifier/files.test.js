// Readers of files.
import { readdirSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { encode } from '../../encoder/index.js'
import { VerifiedReader } from '../../verifier/index.js'
import { errorOf } from '../support/feeding.js'
import { noise } from '../support/inputs.js'

const content = noise(300_000)
const { root, bytes: encoded } = encode(content)

describe('a reader of a file', () => {
  it('closes what it could not use, and tries again', async function () {
    if (process.platform !== 'linux') this.skip()
    const directory = await mkdtemp(join(tmpdir(), 'baobox-reader-'))
    const path = join(directory, 'encoded')
    await writeFile(path, 'abc')
    const open = () => readdirSync('/proc/self/fd').length
    const before = open()
    const reader = new VerifiedReader({ root, encoded: path })
    for (let i = 0; i < 10; i++) expect(await errorOf(reader.read())).to.include({ code: 'BAO_TRUNCATED' })
    expect(open()).to.be.at.most(before + 1)
    await writeFile(path, encoded)
    expect(await reader.read(7, 9)).to.deep.equal(content.slice(7, 9))
    await reader.close()
    await rm(directory, { recursive: true })
  })
})
