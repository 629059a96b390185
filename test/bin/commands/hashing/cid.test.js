import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { hex } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { newFolder } from '../../../support/program.js'

describe('baobox cid', () => {
  const folder = newFolder()
  const bytes = noise(100_000)
  const root = hash(bytes)
  before(() => folder.write('a', bytes))

  it('prints the CIDs of files and of stdin', async () => {
    expect(await folder.run(['cid', 'a'])).to.include({ code: 0, out: `${toCid(root)}  a\n`, err: '' })
    expect(await folder.run(['cid'], { input: bytes })).to.include({ code: 0, out: `${toCid(root)}  -\n` })
    expect(await folder.run(['cid', '--no-names', 'a', 'a'])).to.include({ out: `${toCid(root)}\n`.repeat(2) })
    const { out } = await folder.run(['cid', '--json', 'a'])
    expect(JSON.parse(out)).to.deep.equal({ name: 'a', cid: `${toCid(root)}`, hash: hex(root) })
  })

  it('converts hashes to CIDs, and CIDs to hashes', async () => {
    const both = await folder.run(['cid', '--convert', hex(root), `${toCid(root)}`])
    expect(both).to.include({ code: 0, out: `${toCid(root)}\n${hex(root)}\n`, err: '' })
    const bad = await folder.run(['cid', '--convert', 'abc', hex(root)])
    expect(bad).to.include({ code: 1, out: `${toCid(root)}\n` })
    expect(bad.err).to.match(/^baobox: CID_UNSUPPORTED: .*\n$/)
  })
})
