import { readdir } from 'node:fs/promises'
import { expect } from 'chai'
import { hash, toCid } from '../../../lib/index.js'
import { hex } from '../../support/bytes.js'
import { noise } from '../../support/inputs.js'
import { newFolder } from '../../support/program.js'

describe('baobox demo', () => {
  const folder = newFolder()
  const LABELS = ['read', 'hash', 'CID', 'outboard', 'store', 'slice', 'verify', 'tamper', 'get', 'done']
  const labelsIn = out => [...out.matchAll(/^(\w+) {2,}\S/gm)].map(([, label]) => label)

  it('shows every step, and leaves no files', async () => {
    const bytes = noise(5_000_000)
    await folder.write('a', bytes)
    const { code, out, err } = await folder.run(['demo', 'a'])
    expect({ code, err }).to.deep.equal({ code: 0, err: '' })
    expect(labelsIn(out)).to.deep.equal(LABELS)
    expect(out).to.include(hex(hash(bytes)))
    expect(out).to.include(`${toCid(hash(bytes))}`)
    expect(out).to.match(/^verify +64 leaves, 1,048,576 bytes proven/m)
    expect(out).to.match(/^tamper .* 32 leaves \(524,288 bytes\) proven, then\n +BAO_LEAF_MISMATCH: .*$/m)
    expect(out).to.not.include('\x1b')
    for (const line of out.split('\n')) expect(line).to.have.length.below(101)
    expect(await readdir(folder.path)).to.deep.equal(['a'])
  })

  it('works on files of any size, and keeps the store named by --store', async () => {
    for (const len of [1, 16385, 100_000]) {
      await folder.write('b', noise(len))
      const { code, out, err } = await folder.run(['demo', 'b', '--store', 'kept'])
      expect({ code, err }, `${len} bytes`).to.deep.equal({ code: 0, err: '' })
      expect(labelsIn(out)).to.deep.equal(LABELS)
    }
    expect((await folder.run(['ls', '--store', 'kept'])).out.split('\n')).to.have.length(4)
  })

  it('refuses an empty file', async () => {
    await folder.write('empty', '')
    const { code, err } = await folder.run(['demo', 'empty'])
    expect(code).to.equal(1)
    expect(err).to.match(/^baobox: empty is empty.*\n$/)
  })
})
