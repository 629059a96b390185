import { expect } from 'chai'
import { operandsOf, parse } from '../../../bin/line/parse.js'
import { parseSize, parseSpan, rangeOf } from '../../../bin/line/values.js'
import { COMMANDS } from '../../../bin/table/index.js'
import { UsageError } from '../../../bin/terminal/errors.js'

const parsed = (name, ...args) => parse(COMMANDS[name], args)

describe('the command line', () => {
  it('has options, in any place, and operands', () => {
    expect(parsed('slice', '0', '--group-log=4', '1KiB', '--outboard', 'b', 'a', 'out')).to.deep.equal({
      values: { 'group-log': 4, outboard: 'b' }, operands: ['0', '1KiB', 'a', 'out'], isHelp: false
    })
    expect(parsed('hash', '-l', '5', '-').values).to.deep.equal({ length: 5 })
    expect(parsed('hash', '-cl5', '-h').isHelp).to.equal(true)
    expect(parsed('add', '--tag=-x', '--', '-a')).to.deep.include({ values: { tag: '-x' }, operands: ['-a'] })
  })

  it('has the operands of the table', () => {
    expect(operandsOf({ operands: 'HASH [INPUT]' })).to.deep.equal([
      { name: 'HASH', isOptional: false, isMany: false }, { name: 'INPUT', isOptional: true, isMany: false }
    ])
    expect(operandsOf({ operands: '[FILE...]' })).to.deep.equal([{ name: 'FILE', isOptional: true, isMany: true }])
    expect(operandsOf({ operands: '' })).to.deep.equal([])
  })

  for (const [message, [name, ...args]] of Object.entries({
    "unknown option '--frob'": ['hash', '--frob'],
    "unknown option '-x'": ['hash', '-x'],
    "unknown option '--toString'": ['hash', '--toString'],
    "unexpected argument 'c'": ['get', 'a', 'b', 'c'],
    'missing argument COUNT': ['slice', '1'],
    '--store needs a value: --store DIR': ['get', 'a', '--store'],
    "--start needs a value; one that begins with '-' is written --start=--end": ['get', 'a', '--start', '--end'],
    '--raw takes no value': ['hash', '--raw=1'],
    '--seek was given twice': ['hash', '--seek', '1', '--seek', '1'],
    "--start: '1kb' is not a size": ['get', 'a', '--start', '1kb'],
    "--end: '9007199254740992' is not a size": ['get', 'a', '--end', '9007199254740992'],
    "--length: '-1' is not a size": ['hash', '--length=-1'],
    "--group-log: '17' is not a number from 0 to 16": ['slice', '0', '1', '--group-log', '17'],
    "--num-threads: '1.5' is not a number from 0 to 1024": ['hash', '--num-threads', '1.5'],
    '--tag: NAME must not be empty': ['add', '--tag', '', 'b'],
    '--count excludes --end': ['get', 'a', '--end', '1', '--count', '1'],
    '--check excludes --tag': ['hash', '--tag', '--check'],
    '--keyed excludes --derive-key': ['hash', '--keyed', '--derive-key', 'a', 'b'],
    '--quiet needs --check': ['hash', '--quiet']
  })) {
    it(`is refused: ${message}`, () => expect(() => parsed(name, ...args)).to.throw(UsageError, message))
  }

  it('has sizes with units', () => {
    const SIZES = { 0: 0, 17: 17, '16KiB': 16384, '2 MiB': 2 ** 21, '3gib': 3 * 2 ** 30, '1TiB': 2 ** 40 }
    for (const [text, bytes] of Object.entries(SIZES)) expect(parseSize(text)).to.equal(bytes)
    for (const text of ['', '-1', '1.5', '1e3', 'KiB', '1 PiB', '8388608GiB']) {
      expect(() => parseSize(text), text).to.throw(UsageError)
    }
  })

  it('has ranges, with an end or a count; a range beyond the largest offset has no end', () => {
    expect(rangeOf({})).to.deep.equal({ start: 0, end: Infinity })
    expect(rangeOf({ start: 5, end: 6 })).to.deep.equal({ start: 5, end: 6 })
    expect(rangeOf({ start: 5, count: 6 })).to.deep.equal({ start: 5, end: 11 })
    expect(parseSpan('1KiB', '0')).to.deep.equal({ start: 1024, end: 1024 })
    expect(parseSpan('9007199254740991', '1')).to.deep.equal({ start: 2 ** 53 - 1, end: Infinity })
    expect(() => rangeOf({ start: 2, end: 1 })).to.throw(UsageError, '--end 1 is before --start 2')
  })
})
