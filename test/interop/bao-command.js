// Compares the commands encode, decode, slice and decode-slice of baobox with those of `bao`: the same arguments, the
// same output. run.js starts this file.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { expect } from 'chai'
import { hash } from '../../lib/index.js'
import { flipped, hex, same } from '../support/bytes.js'
import { noise } from '../support/inputs.js'
import { Beside } from './beside.js'
import { find } from './find.js'

const { program, version } = find('bao')
const beside = new Beside(program, 'bao')
/** bao.js compares the library with bao at many sizes; here the arguments count. */
const SIZES = [0, 1025, 200_003]

after(() => {
  console.log(`  commands of baobox, and of bao ${version}:`)
  beside.printTable()
  beside.remove()
})

/** Both write a file, which must be the same. @param {string} flag @param {(out: string) => string[]} argsOf */
function sameFile (flag, argsOf, input) {
  const [theirs, ours] = [beside.theirs(argsOf('theirs'), input), beside.ours(argsOf('ours'), input)]
  expect(theirs.err + ours.err).to.equal('')
  expect(same(readFileSync(beside.at('ours')), readFileSync(beside.at('theirs'))), flag).to.equal(true)
  expect([ours.code, theirs.code]).to.deep.equal([0, 0])
  for (const name of ['theirs', 'ours']) rmSync(beside.at(name))
  beside.countSame(flag)
}

for (const size of SIZES) {
  describe(`${size} bytes`, () => {
    const blob = noise(size)
    const root = hex(hash(blob))
    before(() => {
      writeFileSync(beside.at('blob'), blob)
      expect(beside.ours(['encode', 'blob', 'blob.bao']).code).to.equal(0)
      expect(beside.ours(['outboard', 'blob', 'blob.obao']).code).to.equal(0)
    })

    it('encode INPUT OUTPUT, encode INPUT --outboard', () => {
      sameFile('encode INPUT OUTPUT', out => ['encode', 'blob', out])
      sameFile('encode - OUTPUT', out => ['encode', '-', out], blob)
      sameFile('encode INPUT --outboard=FILE', out => ['encode', 'blob', `--outboard=${out}`])
    })

    it('decode HASH INPUT OUTPUT --outboard --start --count', () => {
      beside.same('decode HASH INPUT', ['decode', root, 'blob.bao'])
      beside.same('decode HASH', ['decode', root], readFileSync(beside.at('blob.bao')))
      sameFile('decode HASH INPUT OUTPUT', out => ['decode', root, 'blob.bao', out])
      beside.same('decode --outboard', ['decode', root, 'blob', '--outboard', 'blob.obao'])
      for (const start of [0, size >> 1, size, size + 5]) {
        for (const count of [0, 3000]) {
          const range = [`--start=${start}`, `--count=${count}`]
          beside.same('decode --start --count', ['decode', root, 'blob.bao', ...range])
          if (count > 0) continue
          beside.same('decode --start', ['decode', root, 'blob.bao', `--start=${start}`])
          beside.same('decode --outboard --start', ['decode', root, 'blob', '--outboard=blob.obao', range[0]])
        }
      }
      beside.same('decode --count', ['decode', root, 'blob.bao', '--count', '100'])
    })

    it('slice START COUNT, decode-slice HASH START COUNT', () => {
      for (const [start, count] of [[0, size], [size >> 1, 1025], [size + 9, 0]]) {
        const span = [`${start}`, `${count}`]
        const { ours } = beside.same('slice START COUNT INPUT', ['slice', ...span, 'blob.bao'])
        beside.same('slice --outboard', ['slice', ...span, 'blob', '--outboard', 'blob.obao'])
        beside.same('decode-slice HASH START COUNT', ['decode-slice', root, ...span], ours.out)
        writeFileSync(beside.at('part'), ours.out)
        sameFile('decode-slice ... INPUT OUTPUT', out => ['decode-slice', root, ...span, 'part', out])
      }
      sameFile('slice ... INPUT OUTPUT', out => ['slice', '0', '1', 'blob.bao', out])
    })

    it('damage', () => {
      const encoding = readFileSync(beside.at('blob.bao'))
      for (const bad of [flipped(encoding, encoding.length - 1), encoding.subarray(0, -1), encoding.subarray(0, 5)]) {
        expect(beside.same('damaged encodings', ['decode', root, '-'], bad).ours.code).to.equal(1)
        expect(beside.same('damaged slices', ['decode-slice', root, '0', `${size}`], bad).ours.code).to.equal(1)
      }
      expect(beside.same('damaged encodings', ['decode', '0'.repeat(64), 'blob.bao']).ours.code).to.equal(1)
    })
  })
}

describe('blobs of a store', () => {
  it('are sliced and encoded as bao does', () => {
    const blob = noise(1_500_000)
    const root = hex(hash(blob))
    writeFileSync(beside.at('blob'), blob)
    expect(beside.ours(['add', 'blob', '--tag', 'a tag']).code).to.equal(0)
    for (const name of [root, 'a tag']) {
      const slice = beside.ours(['slice', '700000', '50000', name])
      const decoded = beside.theirs(['decode-slice', root, '700000', '50000'], slice.out)
      expect(same(decoded.out, blob.subarray(700_000, 750_000))).to.equal(true)
      const encoded = beside.ours(['encode', name])
      expect(same(beside.theirs(['decode', root], encoded.out).out, blob)).to.equal(true)
    }
  })
})

describe('usage', () => {
  it('what neither takes is refused by both, with codes of their own', () => {
    for (const args of [
      ['encode'], ['decode'], ['slice', '1'], ['slice', 'a', 'b', 'c'], ['decode-slice', 'x', '1'], ['frob'],
      ['decode', 'x', 'y', 'z', 'more'], ['slice', '1', '2', '3', '4', '5'], ['encode', '--frob', 'a', 'b']
    ]) {
      expect(beside.theirs(args).code, args.join(' ')).to.equal(1)
      expect(beside.ours(args).code, args.join(' ')).to.equal(2)
    }
    beside.differs('usage errors', 'exit code 2 and not 1')
    expect([beside.theirs([]).code, beside.ours([]).code]).to.deep.equal([1, 0])
    beside.differs('no arguments', 'prints the help, which is no error')
    expect(beside.theirs(['encode', 'blob']).code).to.equal(1)
    expect(beside.ours(['encode', 'blob']).code).to.equal(0)
    beside.differs('encode INPUT', 'writes to stdout where bao refuses')
    expect(beside.theirs(['slice', '0', '1'], readFileSync(beside.at('blob.bao'))).code).to.equal(1)
    expect(beside.ours(['slice', '0', '1'], readFileSync(beside.at('blob.bao'))).code).to.equal(0)
    beside.differs('slice START COUNT', 'reads stdin where bao refuses')
  })
})
