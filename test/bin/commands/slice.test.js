import { once } from 'node:events'
import { readFile, readdir } from 'node:fs/promises'
import { expect } from 'chai'
import { hash, toCid } from '../../../lib/index.js'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { flipped, hex, same } from '../../support/bytes.js'
import { noise } from '../../support/inputs.js'
import { sliceOf } from '../../support/store/stores.js'
import { ended, newFolder } from '../../support/program.js'

const bytes = noise(1_000_000)
const root = hex(hash(bytes))
const cid = `${toCid(hash(bytes))}`
const span = { start: 100_000, end: 200_000 }
const RANGE = ['--start', '100000', '--end', '200000']

describe('baobox slice, verify, receive, outboard', () => {
  const folder = newFolder()
  const outboards = [0, 4].map(groupLog => createOutboardSync(bytes, { groupLog }))
  before(async () => {
    await folder.write('a', bytes)
    await folder.write('a.obao', outboards[0].toBao())
    await folder.write('a.obao4', outboards[1].bytes)
    await folder.run(['add', 'a'])
  })

  const slices = async (expected, args) => {
    const got = await folder.run(['slice', ...args])
    expect(got).to.include({ code: 0, err: '' })
    expect(same(got.bytes, expected)).to.equal(true)
  }
  const proves = async (expected, args, options) => {
    const got = await folder.run(['verify', ...args], options)
    expect(got).to.include({ code: 0, err: '' })
    expect(same(got.bytes, expected)).to.equal(true)
  }

  it('cuts the same slice from a file, with an outboard, and from a store', async () => {
    const expected = sliceOf(bytes, span)
    const sources = [['a'], ['a', '--outboard', 'a.obao4'], [cid], ['--store', '.baobox', root]]
    for (const source of sources) await slices(expected, [...source, ...RANGE])
  })

  it('cuts slices at group log 0, as bao does', async () => {
    const expected = encodeSliceSync(bytes, outboards[0], span)
    for (const source of [['a'], ['a', '--outboard', 'a.obao']]) {
      await slices(expected, [...source, ...RANGE, '--group-log', '0'])
    }
  })

  it('outboard writes outboards from which slice cuts, with and without a header', async () => {
    const AT_ZERO = ['--group-log', '0']
    for (const { outboard, expected, options, cut } of [
      { outboard: outboards[1], expected: outboards[1].bytes, options: [], cut: [] },
      { outboard: outboards[0], expected: outboards[0].toBao(), options: [...AT_ZERO, '--header'], cut: AT_ZERO }
    ]) {
      const got = await folder.run(['outboard', 'a', ...options])
      expect(got).to.include({ code: 0, err: '' })
      expect(same(got.bytes, expected)).to.equal(true)
      const made = await folder.run(['outboard', '-', ...options, '-o', 'made'], { input: bytes })
      expect(made).to.include({ code: 0, out: '', err: '' })
      expect(same(await readFile(folder.at('made')), expected)).to.equal(true)
      await slices(encodeSliceSync(bytes, outboard, span), ['a', '--outboard', 'made', ...cut, ...RANGE])
    }
    expect(await folder.run(['outboard', 'nothing', '-o', 'never'])).to.include({ code: 1, out: '' })
    expect(await readdir(folder.path)).to.not.include('never')
  })

  it('receive keeps slices in a store, and prints how much was received', async () => {
    const receive = ({ start, end }, input) =>
      folder.run(['receive', '--store', 'received', cid, '-', '--start', `${start}`, '--end', `${end}`], { input })
    const half = { start: 0, end: 524288 }
    const first = await receive(half, sliceOf(bytes, half))
    expect(first).to.include({ code: 0, err: '', out: `${cid}  512.00 KiB received, incomplete\n` })
    const rest = { start: 524288, end: 2_000_000 }
    const slice = sliceOf(bytes, rest)
    const bad = await receive(rest, flipped(slice, slice.length - 1))
    expect(bad.code).to.equal(1)
    expect(bad.err).to.match(/^baobox: BAO_LEAF_MISMATCH: .*1000000.*\n$/)
    await folder.write('rest', sliceOf(bytes))
    const { code, out } = await folder.run(['receive', '--store', 'received', root, 'rest'])
    expect(code).to.equal(0)
    expect(out).to.match(new RegExp(`^${root}  \\S+ (KiB|bytes) received, complete\n$`))
    expect(same((await folder.run(['get', '--store', 'received', cid])).bytes, bytes)).to.equal(true)
  })

  it('a slice that was cut with other options fails with a hint at the options', async () => {
    const hint = 'was it cut with another --start, --end or --group-log?\n'
    const input = sliceOf(bytes, span)
    const otherRanges = [[], ['--end', '300000'], ['--end', '1'], ['--start', '100000', '--end', '190000']]
    for (const args of [...otherRanges, [...RANGE, '--group-log', '0']]) {
      const { code, err } = await folder.run(['verify', cid, ...args], { input })
      expect(code, args.join(' ')).to.equal(1)
      expect(err).to.match(/^baobox: BAO_/).and.include(hint)
    }
    expect((await folder.run(['receive', '--store', 'hinted', cid], { input })).err).to.include(hint)
    expect((await folder.run(['verify', cid], { input: noise(100) })).err).to.include('BAO_')
  })

  it('slice refuses the outboard of another file', async () => {
    await folder.write('other', noise(1_000_000, 2))
    const bad = await folder.run(['slice', 'other', '--outboard', 'a.obao4', ...RANGE, '-o', 'bad.slice'])
    expect(bad.code).to.equal(1)
    expect(bad.err).to.match(/^baobox: BAO_LEAF_MISMATCH: .*\n$/)
    const short = await folder.run(['slice', 'a', '--outboard', 'a', ...RANGE])
    expect(short.code).to.equal(1)
    expect(short.err).to.match(/^baobox: a is not the outboard of a at group log 4: it has 1000000 bytes, expected \d+/)
    expect(await readdir(folder.path)).to.not.include('bad.slice')
  })

  it('verify reads a file or stdin, and writes to stdout or a file', async () => {
    expect(await folder.run(['slice', 'a', ...RANGE, '-o', 'a.slice'])).to.include({ code: 0, out: '', err: '' })
    const expected = bytes.subarray(span.start, span.end)
    await proves(expected, [cid, 'a.slice', ...RANGE])
    await proves(expected, [root, ...RANGE], { input: await readFile(folder.at('a.slice')) })
    const fine = encodeSliceSync(bytes, outboards[0], span)
    await proves(expected, [root, '-', ...RANGE, '--group-log', '0'], { input: fine })
    await proves(Buffer.of(), [root, 'a.slice', ...RANGE, '-o', 'a.part'])
    expect(same(await readFile(folder.at('a.part')), expected)).to.equal(true)
  })

  it('verify takes whole encodings, and ranges after the end of the blob', async () => {
    await proves(bytes, [cid], { input: sliceOf(bytes) })
    const behind = { start: 2_000_000, end: 3_000_000 }
    await proves(Buffer.of(), [cid, '--start', '2000000', '--end', '3000000'], { input: sliceOf(bytes, behind) })
  })

  it('verify names the place of a fault, writes the bytes before it to stdout, and writes no file', async () => {
    const slice = sliceOf(bytes, span)
    const bad = flipped(slice, slice.length - 1)
    const { code, err, bytes: got } = await folder.run(['verify', cid, ...RANGE], { input: bad })
    expect(code).to.equal(1)
    expect(err).to.match(/^baobox: BAO_LEAF_MISMATCH: .*200704.*\n$/)
    expect(got.length).to.be.above(80_000)
    expect(same(got, bytes.subarray(span.start, span.start + got.length))).to.equal(true)

    expect((await folder.run(['verify', cid, ...RANGE, '-o', 'bad'], { input: bad })).code).to.equal(1)
    const short = await folder.run(['verify', cid, ...RANGE, '-o', 'bad'], { input: slice.subarray(0, 50_000) })
    expect(short.code).to.equal(1)
    expect(short.err).to.match(/^baobox: BAO_TRUNCATED: .*\n$/)
    expect((await readdir(folder.path)).filter(name => /^bad$|^\.baobox-/.test(name))).to.deep.equal([])
  })

  it('an interrupted verify leaves no file', async function () {
    if (process.platform === 'win32') this.skip()
    const child = folder.start(['verify', cid, '-o', 'interrupted'])
    const end = ended(child)
    await new Promise(resolve => child.stdin.write(sliceOf(bytes).subarray(0, 800_000), resolve))
    child.kill('SIGINT')
    expect(await end).to.include({ code: 130, out: '', err: 'baobox: interrupted\n' })
    expect((await readdir(folder.path)).filter(name => /^interrupted|^\.baobox-/.test(name))).to.deep.equal([])
  })

  it('an interrupt ends the wait for a reader, too', async function () {
    if (process.platform === 'win32') this.skip()
    const child = folder.start(['verify', cid])
    child.stdin.end(sliceOf(bytes))
    // The program has begun to write, and nothing more is read here.
    await once(child.stdout, 'readable')
    child.kill('SIGINT')
    const [code] = await once(child, 'exit')
    expect(code).to.equal(130)
  })
})
