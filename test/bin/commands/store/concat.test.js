import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { concat } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { newFolder } from '../../../support/program.js'

const [ONE, TWO] = [noise(50_000, 541), noise(20_000, 542)]
const cidOf = bytes => `${toCid(hash(bytes))}`

describe('baobox concat', () => {
  const folder = newFolder()

  it('joins several blobs to one, and tags it', async () => {
    await folder.write('one', ONE)
    await folder.write('two', TWO)
    await folder.run(['add', 'one', '--tag', 'first'])
    await folder.run(['add', 'two'])
    const whole = concat([ONE, TWO, ONE])
    const { code, out } = await folder.run(['concat', 'first', cidOf(TWO), cidOf(ONE), '--tag', 'whole', '--bytes'])
    expect(code).to.equal(0)
    expect(out).to.match(new RegExp(`^${cidOf(whole)} +120000  new\n$`))
    expect(Buffer.compare((await folder.run(['get', 'whole'])).bytes, whole)).to.equal(0)
    const again = await folder.run(['concat', 'first', cidOf(TWO), cidOf(ONE), '--json'])
    expect(JSON.parse(again.out)).to.deep.equal({ cid: cidOf(whole), size: 120_000, isNew: false })
  })

  it('fails if one of them is missing, and keeps nothing', async () => {
    const absent = cidOf(ONE.subarray(1))
    const { code, out, err } = await folder.run(['concat', 'first', absent])
    expect([code, out, err]).to.deep.equal([1, '', `baobox: STORE_NOT_FOUND: ${absent} is not in the store\n`])
    expect((await folder.run(['ls'])).out.trim().split('\n')).to.have.length(3)
    expect(await folder.run(['concat'])).to.include({ code: 2, out: '' })
  })
})
