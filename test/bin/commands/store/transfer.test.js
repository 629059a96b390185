import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { flipped, same } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { newFolder } from '../../../support/program.js'

const bytes = noise(300_000)
const cid = `${toCid(hash(bytes))}`
const small = `${toCid(hash(new TextEncoder().encode('b')))}`

describe('baobox export, import', () => {
  const folder = newFolder()
  before(async () => {
    await folder.write('a', bytes)
    await folder.write('b', 'b')
    await folder.run(['add', 'a', '--tag', 'big'])
    await folder.run(['add', 'b'])
  })
  const listOf = async dir => (await folder.run(['ls', '--store', dir])).out.trim().split('\n')

  it('move blobs from one store to another', async () => {
    expect(await folder.run(['export', '-o', 'all.car'])).to.include({ code: 0, out: '', err: '' })
    const into = await folder.run(['import', 'all.car', '--store', 'all', '--bytes'])
    expect(into).to.include({ code: 0, out: '2 blocks, 300001\n', err: '' })
    expect(await listOf('all')).to.have.members([cid, small])
    expect(same((await folder.run(['get', cid, '--store', 'all'])).bytes, bytes)).to.equal(true)
  })

  it('move the blobs of CIDs and tags', async () => {
    for (const [name, expected] of [['big', cid], [small, small]]) {
      const { code, bytes: archive } = await folder.run(['export', name])
      expect(code).to.equal(0)
      const into = await folder.run(['import', '--store', expected, '--tag', 'root', '--json'], { input: archive })
      expect(JSON.parse(into.out)).to.include({ version: 1, blocks: 1, skipped: 0 })
      expect(await listOf(expected)).to.deep.equal([expected])
      expect((await folder.run(['tag', '--store', expected])).out).to.equal(`${expected}  raw      "root"\n`)
    }
    expect((await folder.run(['export', 'no tag', '-o', 'never'])).err).to.match(/^baobox: STORE_TAG_NOT_FOUND: /)
  })

  it('refuse files that are not archives or are damaged, and leave no empty store', async () => {
    const { bytes: archive } = await folder.run(['export', small])
    for (const input of [noise(1000), archive.subarray(0, -1), flipped(archive, archive.length - 1)]) {
      const { code, err } = await folder.run(['import', '--store', 'damaged'], { input })
      expect(code).to.equal(1)
      expect(err).to.match(/^baobox: (CAR_|CID_|BLOCK_)\w+: .*\n$/)
    }
    expect((await folder.run(['ls', '--store', 'damaged'])).err).to.include('there is no store')
  })
})
