import { once } from 'node:events'
import { readFile, readdir } from 'node:fs/promises'
import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { createOutboardSync, encode, encodeSliceSync } from '../../../../encoder/index.js'
import { flipped, hex, same } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { ended, newFolder } from '../../../support/program.js'

const bytes = noise(1_000_000)
const root = hex(hash(bytes))
const cid = `${toCid(hash(bytes))}`
const span = { start: 100_000, end: 200_000 }
const SPAN = ['100000', '100000']
const AT_4 = ['--group-log', '4']

describe('baobox encode, decode, outboard, slice, decode-slice', () => {
  const folder = newFolder()
  const outboards = [0, 4].map(groupLog => createOutboardSync(bytes, { groupLog }))
  const combined = encode(bytes, { groupLog: 0 }).bytes
  before(async () => {
    await folder.write('a', bytes)
    await folder.write('a.bao', combined)
    await folder.write('a.bao4', encode(bytes, { groupLog: 4 }).bytes)
    await folder.write('a.obao', outboards[0].toBao())
    await folder.write('a.obao4', outboards[1].bytes)
    await folder.run(['add', 'a', '--tag', 'tagged'])
  })

  const gives = async (expected, args, options) => {
    const got = await folder.run(args, options)
    expect(got, args.join(' ')).to.include({ code: 0, err: '' })
    expect(same(got.bytes, expected), args.join(' ')).to.equal(true)
  }
  const writes = async (expected, args, options) => {
    await gives(Buffer.of(), args, options)
    expect(same(await readFile(folder.at(args.find(arg => /^out(\d|\.|$)/.test(arg)))), expected)).to.equal(true)
  }
  const leavesNothing = async pattern => {
    expect((await readdir(folder.path)).filter(name => pattern.test(name) || name.startsWith('.'))).to.deep.equal([])
  }

  it('encode writes combined encodings of files, of stdin, and of blobs in a store', async () => {
    for (const name of ['a', cid, root, 'tagged']) await gives(combined, ['encode', name])
    await gives(combined, ['encode', '-', '-'], { input: bytes })
    await gives(encode(bytes, { groupLog: 4 }).bytes, ['encode', cid, ...AT_4])
    await writes(combined, ['encode', 'a', 'out.bao'])
    await leavesNothing(/^baobox-/)
  })

  it('slice and decode read an outboard from stdin, and refuse to read two inputs from stdin', async () => {
    const input = outboards[0].toBao()
    await gives(encodeSliceSync(bytes, outboards[0], span), ['slice', ...SPAN, 'a', '--outboard', '-'], { input })
    await gives(bytes, ['decode', root, 'a', '--outboard', '-'], { input })
    const wrong = await folder.run(['slice', ...SPAN, 'a', '--outboard', '-'], { input: input.subarray(1) })
    expect(wrong.err).to.match(/^baobox: - is not the outboard of a at group log 0: /)
    const both = await folder.run(['decode', root, '-', '--outboard', '-'], { input })
    expect(both).to.include({ code: 2, out: '' })
    expect(both.err).to.include('INPUT and --outboard cannot both be -')
  })

  it('outboard, and encode --outboard, write outboards', async () => {
    for (const name of ['a', cid, 'tagged']) await gives(outboards[0].toBao(), ['outboard', name])
    await gives(outboards[1].bytes, ['outboard', 'a', ...AT_4, '--no-header'])
    await writes(outboards[0].toBao(), ['outboard', '-', 'out.obao'], { input: bytes })
    await writes(outboards[0].toBao(), ['outboard', '-', '-o', 'out2.obao'], { input: bytes })
    await writes(outboards[0].toBao(), ['encode', cid, '--outboard', 'out3.obao'])
    expect(await folder.run(['outboard', 'nothing', 'never'])).to.include({ code: 1, out: '' })
    await leavesNothing(/^baobox-|never/)
  })

  it('the ending of an outboard decides its group log and header, for writing and for reading', async () => {
    await writes(outboards[1].bytes, ['outboard', 'a', 'out.mp4.obao4'])
    await writes(outboards[1].bytes, ['outboard', 'a', '-o', 'out5.obao4', ...AT_4])
    await writes(outboards[1].bytes, ['encode', 'a', '--outboard', 'out6.obao4'])
    await writes(createOutboardSync(bytes, { groupLog: 16 }).bytes, ['outboard', 'a', 'out7.obao16'])
    await writes(outboards[1].bytes, ['outboard', 'a', 'out8', ...AT_4, '--no-header'])
    await writes(outboards[0].toBao(), ['outboard', 'a', 'out9.obao17'])
    await gives(bytes, ['decode', root, 'a', '--outboard', 'a.obao4'])
    await gives(encodeSliceSync(bytes, outboards[1], span), ['slice', ...SPAN, 'a', '--outboard', 'a.obao4'])
  })

  it('an option that contradicts the ending of an outboard to be written is refused', async () => {
    for (const [args, message] of [
      [['outboard', 'a', 'never.obao4', '--group-log', '0'], "--group-log 0 contradicts 'never.obao4', which means 4"],
      [['outboard', 'a', '-o', 'never.obao', ...AT_4], "--group-log 4 contradicts 'never.obao', which means 0"],
      [['encode', 'a', '--outboard', 'never.obao4', '--group-log', '6'], '--group-log 6 contradicts']
    ]) {
      const { code, out, err } = await folder.run(args)
      expect({ code, out }, args.join(' ')).to.deep.equal({ code: 2, out: '' })
      expect(err).to.include(message)
    }
    // What a file has is not up to its name: a wrongly named outboard can still be read.
    await folder.write('wrong.obao4', outboards[0].toBao())
    await gives(bytes, ['decode', root, 'a', '--outboard', 'wrong.obao4', '--group-log', '0'])
    await leavesNothing(/^never/)
  })

  it('decode verifies encodings from files and stdin, and blobs with their outboards', async () => {
    for (const name of [root, cid, 'tagged']) await gives(bytes, ['decode', name, 'a.bao'])
    await gives(bytes, ['decode', root], { input: combined })
    await gives(bytes, ['decode', root, 'a.bao4', ...AT_4])
    await gives(bytes, ['decode', root, 'a', '--outboard', 'a.obao'])
    await gives(bytes, ['decode', root, '-', '--outboard', 'a.obao4', ...AT_4], { input: bytes })
    await writes(bytes, ['decode', root, 'a.bao', 'out'])
  })

  it('decode --start --count writes a range', async () => {
    for (const [start, count] of [[0, 10], [100_000, 100_000], [999_999, 5], [1_000_000, 1], [2_000_000, 1], [5, 0]]) {
      const expected = bytes.subarray(start, start + count)
      const range = ['--start', `${start}`, '--count', `${count}`]
      await gives(expected, ['decode', root, 'a.bao', ...range])
      await gives(expected, ['decode', root, '-', ...range], { input: combined })
      await gives(expected, ['decode', root, 'a', '--outboard', 'a.obao', ...range])
    }
    await gives(bytes.subarray(0, 5000), ['decode', root, 'a.bao', '--count', '5000'])
    await gives(bytes.subarray(5000), ['decode', root, 'a.bao', '--start', '5000'])
  })

  it('slice cuts the same slice from an encoding, from a file with its outboard, and from a store', async () => {
    const expected = encodeSliceSync(bytes, outboards[0], span)
    const sources = [['a.bao'], ['a', '--outboard', 'a.obao'], [cid], ['--store', 'baobox', root], ['tagged']]
    for (const source of sources) await gives(expected, ['slice', ...SPAN, ...source])
    await gives(expected, ['slice', ...SPAN], { input: combined })
    const wide = encodeSliceSync(bytes, outboards[1], span)
    for (const source of [['a.bao4'], ['a', '--outboard', 'a.obao4'], [cid]]) {
      await gives(wide, ['slice', ...SPAN, ...source, ...AT_4])
    }
    await writes(expected, ['slice', ...SPAN, 'a.bao', 'out.slice'])
  })

  it('encode, slice and decode-slice take blobs of a single group', async () => {
    for (const small of [Buffer.of(), noise(500)]) {
      await folder.write('small', small)
      const encoded = encode(small, { groupLog: 0 }).bytes
      await gives(encoded, ['encode', 'small', '-'])
      await writes(encoded, ['slice', '0', '10', '-', 'out.small'], { input: encoded })
      await gives(small.subarray(0, 10), ['decode-slice', hex(hash(small)), '0', '10', 'out.small'])
      await writes(encode(
        Buffer.of(), { groupLog: 0 }
      ).bytes.fill(0).fill(small.length % 256, 0, 1).fill(small.length >> 8, 1, 2),
      ['encode', 'small', '--outboard', 'out.obao'])
      await gives(encoded, ['slice', '0', '10', 'small', '--outboard', 'out.obao'])
    }
  })

  it('decode-slice reads a file or stdin, and writes to stdout or a file', async () => {
    const expected = bytes.subarray(span.start, span.end)
    const slice = encodeSliceSync(bytes, outboards[0], span)
    await folder.write('a.slice', slice)
    await gives(expected, ['decode-slice', cid, ...SPAN, 'a.slice'])
    await gives(expected, ['decode-slice', 'tagged', ...SPAN], { input: slice })
    await gives(expected, ['decode-slice', root, ...SPAN, '-', ...AT_4],
      { input: encodeSliceSync(bytes, outboards[1], span) })
    await writes(expected, ['decode-slice', root, ...SPAN, 'a.slice', 'out.part'])
    await gives(bytes, ['decode-slice', root, '0', '9007199254740991'], { input: combined })
  })

  it('decode-slice verifies ranges beyond the end, and empty ranges', async () => {
    const behind = { start: 2_000_000, end: 3_000_000 }
    const input = encodeSliceSync(bytes, outboards[0], behind)
    await gives(Buffer.of(), ['decode-slice', cid, '2000000', '1000000'], { input })
    const none = encodeSliceSync(bytes, outboards[0], { start: 5000, end: 5000 })
    await gives(Buffer.of(), ['decode-slice', cid, '5000', '0'], { input: none })
    const bad = await folder.run(['decode-slice', cid, '5000', '0'], { input: flipped(none, none.length - 1) })
    expect(bad).to.include({ code: 1, out: '' })
  })

  it('a slice that was cut with other options fails with a hint at the options', async () => {
    const hint = 'is HASH the hash of this blob? Was the input made with the same range and --group-log?\n'
    const input = encodeSliceSync(bytes, outboards[1], span)
    for (const args of [['0', '1000000'], ['0', '1'], ['100000', '90000'], SPAN]) {
      const log = args === SPAN ? [] : AT_4
      const { code, err } = await folder.run(['decode-slice', cid, ...args, ...log], { input })
      expect(code, args.join(' ')).to.equal(1)
      expect(err).to.match(/^baobox: BAO_/).and.include(hint)
    }
    expect((await folder.run(['decode-slice', cid, '0', '1'], { input: noise(100) })).err).to.include('BAO_')
    expect((await folder.run(['decode', cid, 'a.bao4'])).err).to.include(hint)
  })

  it('slice refuses damaged files, and the outboard of another file', async () => {
    await folder.write('other', noise(1_000_000, 2))
    const bad = await folder.run(['slice', ...SPAN, 'other', 'bad.slice', '--outboard', 'a.obao'])
    expect(bad.code).to.equal(1)
    expect(bad.err).to.match(/^baobox: BAO_LEAF_MISMATCH: .*\n$/)
    const short = await folder.run(['slice', ...SPAN, 'a', '--outboard', 'a'])
    expect(short.code).to.equal(1)
    expect(short.err).to.match(/^baobox: a is not the outboard of a at group log 0: it has 1000000 bytes, expected \d+/)
    await folder.write('damaged', flipped(combined, 150_000))
    expect((await folder.run(['slice', ...SPAN, 'damaged', 'bad.slice'])).err).to.match(/^baobox: BAO_\w+_MISMATCH: /)
    for (const len of [0, 7, 20, 5000]) {
      await folder.write('damaged', combined.subarray(0, len))
      const { err } = await folder.run(['slice', ...SPAN, 'damaged', 'bad.slice'])
      expect(err, `${len} bytes`).to.match(/^baobox: BAO_/)
    }
    await leavesNothing(/^bad|^baobox-/)
  })

  it('names the place of a fault, writes the bytes before it to stdout, and writes no file', async () => {
    const slice = encodeSliceSync(bytes, outboards[1], span)
    const bad = flipped(slice, slice.length - 1)
    const args = ['decode-slice', cid, ...SPAN, '-']
    const { code, err, bytes: got } = await folder.run([...args, ...AT_4], { input: bad })
    expect(code).to.equal(1)
    expect(err).to.match(/^baobox: BAO_LEAF_MISMATCH: .*200704.*\n$/)
    expect(got.length).to.be.above(80_000)
    expect(same(got, bytes.subarray(span.start, span.start + got.length))).to.equal(true)

    expect((await folder.run([...args, 'bad', ...AT_4], { input: bad })).code).to.equal(1)
    const short = await folder.run([...args, 'bad', ...AT_4], { input: slice.subarray(0, 50_000) })
    expect(short.code).to.equal(1)
    expect(short.err).to.match(/^baobox: BAO_TRUNCATED: .*\n$/)
    await leavesNothing(/^bad/)
  })

  it('an interrupted decode leaves no file', async function () {
    if (process.platform === 'win32') this.skip()
    const child = folder.start(['decode', cid, '-', 'interrupted'])
    const end = ended(child)
    await new Promise(resolve => child.stdin.write(combined.subarray(0, 800_000), resolve))
    child.kill('SIGINT')
    expect(await end).to.include({ code: 130, out: '', err: 'baobox: interrupted\n' })
    await leavesNothing(/^interrupted|^baobox-/)
  })

  it('an interrupt ends the wait for a reader, too', async function () {
    if (process.platform === 'win32') this.skip()
    const child = folder.start(['decode', cid])
    child.stdin.end(combined)
    // The program has begun to write, and this process reads no more.
    await once(child.stdout, 'readable')
    child.kill('SIGINT')
    const [code] = await once(child, 'exit')
    expect(code).to.equal(130)
  })
})
