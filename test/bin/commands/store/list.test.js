import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { encodeSliceSync, createOutboardSync } from '../../../../encoder/index.js'
import { flipped, hex, same } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { newFolder } from '../../../support/program.js'

const bytes = noise(1_000_000)
const root = hex(hash(bytes))
const cid = `${toCid(hash(bytes))}`
const outboard = createOutboardSync(bytes)
const sliceOf = range => encodeSliceSync(bytes, outboard, range)

describe('baobox receive, missing, stat, has, ls', () => {
  const folder = newFolder()
  const jsonOf = async args => JSON.parse((await folder.run([...args, '--json'])).out)
  const receive = (range, input, ...more) => folder.run(['receive', cid, '-', '--start', `${range.start}`,
    '--end', `${range.end}`, ...more], { input })
  const half = { start: 0, end: 524288 }
  const rest = { start: 524288, end: 2_000_000 }

  it('receive keeps slices, and prints how many bytes were received', async () => {
    const first = await receive(half, sliceOf(half))
    expect(first).to.include({ code: 0, err: '', out: `${cid}  512.00 KiB received, incomplete\n` })
    const slice = sliceOf(rest)
    const bad = await receive(rest, flipped(slice, slice.length - 1))
    expect(bad.code).to.equal(1)
    expect(bad.err).to.match(/^baobox: BAO_LEAF_MISMATCH: .*1000000.*\n$/)
    const other = await folder.run(['receive', cid], { input: sliceOf({ start: 70_000, end: 80_000 }) })
    expect(other.err).to.include('was it made for another range, or without --group-log 4?')
  })

  it('missing prints the missing ranges', async () => {
    const [start, count] = (await folder.run(['missing', cid])).out.trim().split(' ').map(Number)
    expect(start).to.be.at.least(524288)
    expect(start + count).to.equal(1_000_000)
    expect(await jsonOf(['missing', cid])).to.deep.equal({ start, count })
    expect(await folder.run(['missing', cid, '--end', '512KiB'])).to.include({ code: 0, out: '' })
    expect((await folder.run(['missing', hex(new Uint8Array(32))])).err).to.match(/^baobox: STORE_NOT_FOUND: /)
  })

  it('stat and has print how much of a blob is present', async () => {
    const { out } = await folder.run(['stat', root])
    expect(out).to.match(new RegExp(`^CID +${cid}\nhash +${root}\nsize +976.56 KiB, claimed.*\npresent +\\S+ KiB, 0-`))
    const stat = await jsonOf(['stat', cid])
    expect(stat).to.include({ cid, hash: root, size: 1_000_000, complete: false, sizeProven: false })
    expect(stat.present).to.deep.equal([{ start: 0, end: stat.presentBytes }])
    expect(new Date(stat.created).getFullYear()).to.be.above(2000)
    expect(await folder.run(['has', cid])).to.include({ code: 1, out: `${cid}  partial\n`, err: '' })
    const absent = hex(new Uint8Array(32))
    const { code, out: said, err } = await folder.run(['has', absent, 'no tag', cid])
    expect({ code, said }).to.deep.equal({ code: 1, said: `${absent}  absent\n${cid}  partial\n` })
    expect(err).to.match(/^baobox: 'no tag' is neither .*\n$/)
    const both = await folder.run(['stat', absent, cid])
    expect(both.code).to.equal(1)
    expect(both.out).to.include(cid)
  })

  it('stat without a CID prints how much is in the store', async () => {
    const { code, out } = await folder.run(['stat'])
    expect(code).to.equal(0)
    expect(out).to.match(/^blobs +1, 1 of them in part\nsize +\S+ KiB\non disk +\S+ [KM]iB\ntags +0\n$/)
    expect(await jsonOf(['stat'])).to.include({ blobs: 1, partial: 1, tags: 0 })
  })

  it('ls prints exact bytes, or JSON', async () => {
    expect((await folder.run(['ls', '-l', '--bytes'])).out).to.match(new RegExp(`^${cid} +1000000\\? +\\d+ present `))
    expect(await jsonOf(['ls'])).to.include({ cid, size: 1_000_000, complete: false })
  })

  it('the blob is complete when the rest is received later', async () => {
    await folder.write('whole', sliceOf())
    const { code, out } = await folder.run(['receive', root, 'whole', '--bytes'])
    expect(code).to.equal(0)
    expect(out).to.match(new RegExp(`^${root}  \\d+ received, complete\n$`))
    expect(same((await folder.run(['get', cid])).bytes, bytes)).to.equal(true)
    expect(await folder.run(['has', cid])).to.include({ code: 0, out: `${cid}  complete\n` })
  })
})
