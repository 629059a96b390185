// Compares `baobox hash` with the command `b3sum`, flag by flag and on the cases of b3sum's own tests. run.js starts
// this file.
import { mkdirSync, writeFileSync } from 'node:fs'
import { expect } from 'chai'
import { hash } from '../../lib/index.js'
import { hex } from '../support/bytes.js'
import { pairsOf, waysInTurn } from '../support/effort.js'
import { KEY, noise } from '../support/inputs.js'
import { BAOBOX, Beside } from './beside.js'
import { find } from './find.js'

const { program, version } = find('b3sum')
const beside = new Beside(program, 'b3sum', ['hash'])
const FOO = hex(hash(new TextEncoder().encode('foo')))
/** Windows has other names of files. */
const onUnix = process.platform === 'win32' ? it.skip : it

const write = (name, bytes) => writeFileSync(beside.at(name), bytes)

after(() => {
  console.log(`  hash of baobox, and ${version}:`)
  beside.printTable()
  beside.remove()
})

describe(`${version} and baobox hash`, () => {
  before(() => {
    for (const len of [0, 1, 1023, 1024, 1025, 65536, 1_000_003]) write(`f${len}`, noise(len))
    write('foo', 'foo')
    write('bar', 'bar')
    mkdirSync(beside.at('folder'))
    write('folder/baz', 'baz')
  })
  const FILES = ['f0', 'f1', 'f1023', 'f1024', 'f1025', 'f65536', 'f1000003']

  it('[FILE]...', () => {
    beside.same('[FILE]...', ['foo'])
    beside.same('[FILE]...', [], 'foo')
    beside.same('[FILE]...', ['-', 'bar', 'folder/baz', './foo'], 'foo')
    beside.same('[FILE]...', FILES)
    for (const args of [['foo', 'missing', 'bar'], ['missing'], ['folder', 'foo']]) {
      const { theirs } = beside.same('[FILE]...', args)
      expect(theirs.code).to.equal(1)
    }
    beside.same('[FILE]...', ['--', 'foo'])
  })

  it('--tag', () => {
    beside.same('--tag', ['--tag', 'foo'])
    beside.same('--tag', ['--tag', ...FILES, 'missing'])
    beside.same('--tag', ['--tag'], 'foo')
  })

  it('--raw', () => {
    beside.same('--raw', ['--raw', 'foo'])
    beside.same('--raw', ['--raw'], 'foo')
    beside.same('--raw', ['--raw', '--length', '1000', '--seek', '5', 'f1025'])
    beside.same('--raw', ['--raw', '--tag', '--no-names', 'foo'])
    const args = ['--raw', 'foo', 'bar']
    expect(beside.theirs(args)).to.include({ code: 1 })
    expect(beside.ours(args)).to.include({ code: 2 })
    beside.differs('--raw', 'several files are a usage error, exit code 2 and not 1')
  })

  it('--no-names', () => {
    beside.same('--no-names', ['--no-names', ...FILES])
    beside.same('--no-names', ['--no-names', '--tag', 'foo'])
  })

  it('--length and --seek', () => {
    const lengths = ['0', '1', '32', '33', '64', '65537']
    for (const [length, seek] of pairsOf(lengths, ['0', '63', '64', '1099511627776'])) {
      beside.same('--length, -l', ['-l', length, '--seek', seek, 'f1025'])
    }
    for (const length of lengths) beside.same('--length, -l', [`--length=${length}`, 'foo', 'bar'])
    for (const seek of ['1', '64', '9007199254740000']) beside.same('--seek', ['--seek', seek, ...FILES])
    for (const args of [['--length'], ['foo', '--length'], ['--length', '-1', 'foo'], ['--length', '1.5']]) {
      expect(beside.same('--length, -l', args).ours.code).to.equal(2)
    }
    expect(beside.same('--seek', ['--seek']).ours.code).to.equal(2)
    const behind = ['--seek', `${2n ** 53n}`, 'foo']
    expect(beside.theirs(behind).code).to.equal(0)
    expect(beside.ours(behind).code).to.equal(2)
    beside.differs('--seek', 'from 2^53 on it is refused')
  })

  it('--keyed', () => {
    beside.same('--keyed', ['--keyed', ...FILES], KEY)
    beside.same('--keyed', ['--keyed', '--length', '100', '--tag', 'foo'], KEY)
    for (const key of [KEY.subarray(1), Buffer.concat([KEY, KEY.subarray(1)]), new Uint8Array(0)]) {
      expect(beside.same('--keyed', ['--keyed', 'foo'], key).ours.code).to.equal(1)
    }
    expect(beside.same('--keyed', ['--keyed', '-', 'foo'], KEY).ours.code).to.equal(1)
    expect(beside.same('--keyed', ['--keyed'], KEY).ours.code).to.equal(2)
    expect(beside.same('--keyed', ['--keyed', '--derive-key', 'a', 'foo'], KEY).ours.code).to.equal(2)
  })

  it('--derive-key', () => {
    beside.same('--derive-key', ['--derive-key', 'a context string', ...FILES])
    beside.same('--derive-key', ['--derive-key=', '-l', '77'], 'foo')
    beside.same('--derive-key', ['--derive-key', 'Grüße', 'foo'])
  })

  it('--num-threads and --no-mmap', () => {
    for (const number of ['0', '1', '2', '7']) beside.same('--num-threads', ['--num-threads', number, ...FILES])
    expect(beside.same('--num-threads', ['--num-threads', 'x', 'foo']).ours.code).to.equal(2)
    beside.same('--no-mmap', ['--no-mmap', ...FILES])
    beside.same('--no-mmap', ['--no-mmap', 'missing'])
  })

  it('usage errors', () => {
    for (const args of [
      ['--frob'], ['--check', '--tag'], ['--check', '--raw'], ['--check', '--keyed', 'foo'], ['--check', '-l', '1'],
      ['--check', '--derive-key', 'a'], ['--check', '--no-names'], ['--quiet', 'foo'], ['--status'],
      ['--seek', '1', '--seek', '2'], ['--raw=1', 'foo'], ['-x']
    ]) {
      expect(beside.same('usage errors', args).ours.code, args.join(' ')).to.equal(2)
    }
    for (const flag of ['--help', '--version', '-h', '-V']) expect(beside.theirs([flag]).code).to.equal(0)
    expect(beside.ours(['--help']).code).to.equal(0)
    expect(beside.ours(['-V']).code).to.equal(2)
    beside.differs('--help, --version', 'other texts; the version is asked for without a command: baobox --version')
  })

  onUnix('names with line breaks and backslashes', () => {
    const inTurn = waysInTurn()
    for (const name of ['a\nb', 'a\\b', 'a\\nb', '\\', 'a\rb', 'x\r\n\\', ' a  b ', 'a) = b', 'BLAKE3 (x']) {
      write(name, name)
      for (const args of inTurn([[], ['--tag']])) {
        const { ours, theirs } = beside.same('escaping', [...args, name])
        beside.same('--check, -c', ['--check'], ours.out)
        expect(ours.out.equals(theirs.out)).to.equal(true)
      }
    }
  })

  onUnix('names that are not Unicode', () => {
    mkdirSync(beside.at('odd'))
    writeFileSync(Buffer.concat([Buffer.from(beside.at('odd/')), Buffer.of(0x61, 0xff, 0x62)]), 'odd')
    const glob = new Beside('sh', 'b3sum')
    const theirs = glob.theirs(['-c', `cd '${beside.at('odd')}' && '${program}' *`])
    expect(theirs.out.toString()).to.match(/^[0-9a-f]{64} {2}a\ufffdb\n$/)
    const ours = glob.theirs(['-c', `cd '${beside.at('odd')}' && '${process.execPath}' '${BAOBOX}' hash *`])
    expect(ours).to.include({ code: 1 })
    glob.remove()
    beside.differs('escaping', 'Node.js cannot be given names that are not Unicode: such files are not found')
  })

  it('--check', () => {
    const sums = beside.theirs(['foo', 'bar', 'folder/baz']).out
    const tagged = beside.theirs(['--tag', 'foo', 'bar']).out
    write('sums', sums)
    write('tagged', tagged)
    for (const [args, input] of [
      [['--check', 'sums']], [['-c', 'sums', 'tagged']], [['--check'], sums], [['--check', '-'], tagged],
      [['--check', '--quiet', 'sums']], [['--check'], ''], [['-c', '--no-mmap', '--num-threads', '1', 'sums']],
      [['--check', '--seek', '1', 'sums']], [['--check'], sums.toString().replaceAll('\n', '\r\n')],
      [['--check'], sums.subarray(0, -1)]
    ]) {
      beside.same(args.includes('--quiet') ? '--quiet' : '--check, -c', args, input)
    }
    write('bar', 'changed')
    for (const args of [['--check', 'sums'], ['--check', '--quiet', 'sums', 'tagged']]) {
      const { ours, theirs } = beside.same(args[1] === '--quiet' ? '--quiet' : '--check, -c', args)
      expect(ours.code).to.equal(1)
      expect(beside.lastMessage(ours)).to.equal(beside.lastMessage(theirs))
    }
    for (const args of [['-c', 'missing'], ['-c', 'missing', 'sums'], ['-c', 'sums', 'folder', 'sums']]) {
      expect(beside.same('--check, -c', args).ours.code).to.equal(1)
    }
  })

  it('--check of lines that are wrong in some way', () => {
    const inTurn = waysInTurn()
    for (const line of [
      `${FOO}  foo\n${FOO}  missing`, `${FOO}  folder`, 'nonsense', '', '\n', `${FOO}`, `${FOO} foo`, `${FOO}   foo`,
      `${FOO.toUpperCase()}  foo`, `${FOO.slice(2)}  foo`, `${FOO}00  foo`, `${FOO.slice(1)}g  foo`, `${FOO}  `, '\\',
      `\\${FOO}  foo`, `\\${FOO}  fo\\o`, `\\${FOO}  foo\\`, `\\${FOO}  foo\\\\`, `\\${FOO}  \\n`, `${FOO}  foo\0bar`,
      `${FOO}  foo\ufffd`, `BLAKE3 (foo) = ${FOO}`, `BLAKE3 (foo) = ${FOO}0`, `BLAKE3 (foo)= ${FOO}`,
      `BLAKE3 () = ${FOO}`,
      `\\BLAKE3 (foo) = ${FOO}`, `\\BLAKE3 (f\\oo) = ${FOO}`, `BLAKE2 (foo) = ${FOO}`, ` BLAKE3 (foo) = ${FOO}`,
      `BLAKE3 (foo  bar) = ${FOO}`, `${FOO}  foo\r`, `${FOO}  foo\r\r`, `\ufeff${FOO}  foo`
    ]) {
      for (const end of inTurn(['', '\n'])) {
        const { ours, theirs } = beside.same('--check, -c', ['--check'], line + end + (end && `${FOO}  foo\n`))
        const say = [ours, theirs].map(result => beside.lastMessage(result))
        if (ours.code !== 0) expect(say[0]).to.equal(say[1])
      }
    }
    const { ours } = beside.same('--check, -c', ['--check'], Buffer.from([...Buffer.from(FOO), 32, 32, 0xff, 10]))
    expect(ours.code).to.equal(1)
    beside.differs('messages', 'worded as elsewhere in baobox, but for the lines of --check on stdout and its last one')
  })
})
