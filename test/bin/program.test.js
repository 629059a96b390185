import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { parse, parseSize } from '../../bin/arguments.js'
import { demo } from '../../bin/commands/demo.js'
import { UsageError } from '../../bin/terminal/errors.js'
import { hash } from '../../bin/commands/hash.js'
import { commandHelp } from '../../bin/help.js'
import { outboard } from '../../bin/commands/outboard.js'
import { receive, slice, verify } from '../../bin/commands/slice.js'
import { fsck } from '../../bin/commands/fsck.js'
import { add, get, ls, rm } from '../../bin/commands/store.js'
import { gc, tag } from '../../bin/commands/tags.js'
import { errorOf } from '../support/feeding.js'
import { newFolder } from '../support/program.js'

const COMMANDS = { hash, add, get, ls, rm, tag, gc, fsck, outboard, slice, verify, receive, demo }

/** One line, and no stack. */
const expectLine = (err, text) => {
  expect(err).to.match(/^baobox: .*\n$/)
  expect(err).to.include(text)
}

describe('baobox', () => {
  const folder = newFolder()

  it('--help lists all commands', async () => {
    for (const flag of ['--help', '-h']) {
      const { code, out, err } = await folder.run([flag])
      expect({ code, err }).to.deep.equal({ code: 0, err: '' })
      for (const name of Object.keys(COMMANDS)) expect(out).to.match(new RegExp(`^  ${name} +\\w`, 'm'))
      expect(out).to.include('Example')
    }
  })

  it('the README shows every command', () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
    const [, block] = /\n## The command line\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(readme)
    const shown = [...block.matchAll(/baobox (\w+)/g)].map(([, name]) => name)
    expect(shown).to.have.members(Object.keys(COMMANDS))
  })

  it('--help after a command prints the help of that command', async () => {
    const { code, out, err } = await folder.run(['get', '--help', '--start', 'nonsense'])
    expect({ code, err }).to.deep.equal({ code: 0, err: '' })
    expect(out).to.equal(commandHelp('get', get))
  })

  for (const [name, command] of Object.entries(COMMANDS)) {
    it(`the help of ${name} has its usage, its options and an example`, () => {
      const help = commandHelp(name, command)
      const parts = [`^Usage:\n  baobox ${name} `, '^Options:\n', `^Examples?:\n  (.* )?baobox ${name} ?`]
      expect(help).to.match(new RegExp(parts.join('(\n|.)*'), 'm'))
      for (const option of Object.keys(command.options)) expect(help).to.include(`--${option}`)
      for (const line of help.split('\n')) expect(line).to.have.length.at.most(100)
    })
  }

  it('--version prints the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url)))
    for (const flag of ['--version', '-V']) {
      expect(await folder.run([flag])).to.include({ code: 0, out: `${version}\n`, err: '' })
    }
  })

  it('exits with 2 on a usage error', async () => {
    await Promise.all([
      ['missing command', 'baobox --help', []],
      ["unknown command 'frob'", 'baobox --help', ['frob']],
      ["unknown command 'toString'", 'baobox --help', ['toString']],
      ['missing argument CID', 'baobox get --help', ['get', '-o', 'file']],
      ['--length: must be at least 1', 'baobox hash --help', ['hash', '--length', '0']]
    ].map(async ([message, help, args]) => {
      const { code, out, err } = await folder.run(args)
      expect({ code, out }).to.deep.equal({ code: 2, out: '' })
      expectLine(err, message)
      expect(err).to.include(`(see '${help}')`)
    }))
  })

  const HEX = 'a'.repeat(64)
  for (const [message, [name, ...args]] of Object.entries({
    "Unknown option '--frob'": ['hash', '--frob'],
    "unexpected argument 'b'": ['get', 'a', 'b'],
    'CID_UNSUPPORTED: ': ['get', 'xyz'],
    "'--store <value>' argument missing": ['get', '--store'],
    "'--start' argument is ambiguous": ['get', 'a', '--start', '--end'],
    "--start: '1kb' is not a size": ['get', 'a', '--start', '1kb'],
    "--end: '9007199254740992' is not a size": ['get', 'a', '--end', '9007199254740992'],
    '--end 1 is before --start 2': ['slice', 'a', '--start', '2', '--end', '1'],
    "--group-log: '17' is not a number from 0 to 16": ['slice', 'a', '--group-log', '17'],
    '--key: a key is 64 hexadecimal digits': ['hash', '--key', 'abc'],
    '--cid goes with neither --key nor --length': ['hash', '--cid', '--length', '32'],
    '--outboard goes with a FILE': ['slice', HEX, '--outboard', 'a'],
    '--tag goes with one FILE only': ['add', '--tag', 'a', 'b', 'c'],
    '--tag: NAME must not be empty': ['add', '--tag', '', 'b'],
    'a store cuts slices at 4 only': ['slice', HEX, '--group-log', '0']
  })) {
    it(`refuses: ${message}`, async () => {
      const error = await errorOf(() => COMMANDS[name].run(parse(COMMANDS[name], args), {}))
      expect(error).to.be.an.instanceof(UsageError)
      expect(error.message).to.include(message)
    })
  }

  it('reads sizes with units', () => {
    const SIZES = { 0: 0, 17: 17, '16KiB': 16384, '2 MiB': 2 ** 21, '3gib': 3 * 2 ** 30 }
    for (const [text, bytes] of Object.entries(SIZES)) expect(parseSize(text)).to.equal(bytes)
    for (const text of ['', '-1', '1.5', '1e3', 'KiB', '1 TiB', '8388608GiB']) {
      expect(() => parseSize(text), text).to.throw(UsageError)
    }
  })

  it('exits with 1 when a file or a store is missing', async () => {
    await Promise.all([
      ['there is no store at .baobox', ['ls']],
      ['there is no store at nowhere', ['get', '--store', 'nowhere', HEX]],
      ['ENOENT', ['hash', 'nothing']],
      ['is a directory', ['hash', '.']],
      ['ENOENT', ['verify', HEX, 'nothing']]
    ].map(async ([message, args]) => {
      const { code, out, err } = await folder.run(args)
      expect({ code, out }).to.deep.equal({ code: 1, out: '' })
      expectLine(err, message)
    }))
  })

  it('prints a stack only when BAOBOX_DEBUG is set', async () => {
    const { code, err } = await folder.run(['hash', 'nothing'], { env: { BAOBOX_DEBUG: '1' } })
    expect(code).to.equal(1)
    expect(err).to.include('\n    at ')
  })
})
