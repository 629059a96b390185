import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { COMMANDS, TABLE } from '../../bin/table/index.js'
import { commandHelp } from '../../bin/line/help.js'
import { newFolder } from '../support/program.js'
import { commandLinePage } from '../support/command-line-page.js'

const HEX = 'a'.repeat(64)

/** One line, and no stack. */
const expectLine = (err, text) => {
  expect(err).to.match(/^baobox: .*\n$/)
  expect(err).to.include(text)
}

describe('baobox', () => {
  const folder = newFolder()

  it('help and --help list all commands, in their groups', async () => {
    for (const flag of ['--help', '-h', 'help']) {
      const { code, out, err } = await folder.run([flag])
      expect({ code, err }).to.deep.equal({ code: 0, err: '' })
      for (const [title, commands] of Object.entries(TABLE)) {
        const lines = Object.keys(commands).map(name => `  ${name} +\\w.*\n(?: {6,}.*\n)*`)
        expect(out).to.match(new RegExp(`^${title}:\n${lines.join('')}\n`, 'm'))
      }
      expect(out).to.include('Exit codes:').and.to.include('NO_COLOR')
    }
  })

  it('the overview in docs/cli.md shows every command', () => {
    const [, block] = /\n## At a glance\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(commandLinePage())
    const shown = [...block.matchAll(/baobox ([\w-]+)/g)].map(([, name]) => name)
    expect(new Set(shown)).to.deep.equal(new Set(Object.keys(COMMANDS)))
  })

  it('docs/cli.md is made from the table of commands', () => {
    // To write it again: node test/support/command-line-page.js
    const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')
    expect(page).to.equal(commandLinePage())
  })

  it('help COMMAND, and --help after a command, print the help of that command', async () => {
    for (const args of [['help', 'get'], ['get', '--help', '--start', 'nonsense'], ['get', '-h', 'a', 'b', 'c']]) {
      const { code, out, err } = await folder.run(args)
      expect({ code, err }).to.deep.equal({ code: 0, err: '' })
      expect(out).to.equal(commandHelp('get', COMMANDS.get))
    }
  })

  for (const [name, command] of Object.entries(COMMANDS)) {
    it(`the help of ${name} has its usage, its options and an example, and its code can be loaded`, async () => {
      const help = commandHelp(name, command)
      const parts = [`^Usage:\n  baobox ${name}`, '^Options:\n', `^Examples?:\n  (.* )?"?(\\$\\()?baobox ${name} ?`]
      expect(help).to.match(new RegExp(parts.join('(\n|.)*'), 'm'))
      for (const option of Object.keys(command.options)) expect(help).to.include(`--${option}`)
      for (const line of help.split('\n')) expect(line).to.have.length.at.most(100)
      expect(await command.load()).to.be.a('function')
    })
  }

  it('--version prints the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url)))
    for (const flag of ['--version', '-V', '-v', 'version']) {
      expect(await folder.run([flag])).to.include({ code: 0, out: `${version}\n`, err: '' })
    }
  })

  it('takes options before the command, also when a value looks like a command', async () => {
    await folder.write('b', 'b')
    expect(await folder.run(['--store', 'get', '--json', '--tag=x', 'add', 'b'])).to.include({ code: 0, err: '' })
    const { out } = await folder.run(['ls', '--store', 'get'])
    expect(out).to.match(/^bafkr4i\w+\n$/)
    expect(await folder.run(['--store', 'get', 'ls'])).to.include({ code: 0, out })
    expect(await folder.run(['--store=get', '--help', 'ls'])).to.include({ out: commandHelp('ls', COMMANDS.ls) })
  })

  it('takes put for add, and list for ls', async () => {
    await folder.write('b', 'b')
    expect(await folder.run(['--store', 'synonyms', 'put', 'b'])).to.include({ code: 0, err: '' })
    const { code, out } = await folder.run(['list', '--store', 'synonyms'])
    expect([code, out]).to.deep.equal([0, (await folder.run(['ls', '--store', 'synonyms'])).out])
    for (const args of [['put', '--help'], ['help', 'put']]) {
      expect((await folder.run(args)).out).to.equal(commandHelp('add', COMMANDS.add))
    }
    expect((await folder.run(['put', '--frob', 'b'])).err).to.include("(see 'baobox add --help')")
  })

  it('alone prints the help', async () => {
    const { code, out, err } = await folder.run([])
    expect({ code, err }).to.deep.equal({ code: 0, err: '' })
    expect(out).to.equal((await folder.run(['help'])).out)
  })

  it('exits with 2 on a usage error', async () => {
    await Promise.all([
      ['missing command', 'baobox --help', ['--store', 'x']],
      ["unknown command 'frob'", 'baobox --help', ['frob']],
      ["unknown command 'lst': did you mean 'ls'?", 'baobox --help', ['lst', '--long']],
      ["unknown command 'fecth': did you mean 'fetch'?", 'baobox --help', ['help', 'fecth']],
      ["unknown command 'download': did you mean 'fetch'?", 'baobox --help', ['download', 'file']],
      ["unknown command 'init': did you mean 'add', which makes a missing store?", 'baobox --help', ['init']],
      ["unknown command 'check': did you mean 'fsck' for a store, or 'hash --check' for files?", 'baobox --help',
        ['check']],
      ["unknown command 'verify': did you mean 'hash --check' for files, or 'fsck' for a store?", 'baobox --help',
        ['verify']],
      ["unknown option '--recusive': did you mean '--recursive'?", 'baobox add --help', ['add', '--recusive', 'x']],
      ["unknown option '--stoer'", 'baobox ls --help', ['--stoer', 'x', 'ls']],
      ['--store needs a value', 'baobox ls --help', ['--store', 'ls']],
      ['--recursive needs a folder, and - is not a folder', 'baobox add --help', ['add', '-r']],
      ['--reference needs a file', 'baobox add --help', ['add', '--reference']],
      ["unknown command 'frob'", 'baobox --help', ['help', 'frob']],
      ["unknown command 'toString'", 'baobox --help', ['toString']],
      ['missing argument CID', 'baobox get --help', ['get', '-o', 'file']],
      ["unexpected argument 'x'", 'baobox ls --help', ['ls', 'a', 'x']],
      ["unknown shell 'tcsh'", 'baobox completion --help', ['completion', 'tcsh']],
      ['OUTPUT excludes --output', 'baobox get --help', ['get', HEX, 'a', '-o', 'b']],
      ['OUTPUT excludes --outboard', 'baobox encode --help', ['encode', 'a', 'b', '--outboard', 'c']],
      ['--outboard excludes --store', 'baobox slice --help', ['slice', '0', '1', 'a', '--outboard=b', '--store=c']],
      ["'1kb' is not a size", 'baobox slice --help', ['slice', '1kb', '1', 'a']],
      ['--output needs --svg', 'baobox tree --help', ['tree', 'a', '-o', 'b']],
      ['--tag is for one FILE only', 'baobox add --help', ['add', '--tag', 'a', 'b', 'c']],
      ['--raw is for one FILE only', 'baobox hash --help', ['hash', '--raw', 'a', 'b']],
      ['missing argument FILE', 'baobox hash --help', ['hash', '--keyed']]
    ].map(async ([message, help, args]) => {
      const { code, out, err } = await folder.run(args)
      expect({ code, out }, args.join(' ')).to.deep.equal({ code: 2, out: '' })
      expectLine(err, message)
      expect(err).to.include(`(see '${help}')`)
    }))
  })

  it('exits with 1 when a file or a store is missing', async () => {
    await folder.write('plain', new Uint8Array(9).fill(255))
    await Promise.all([
      [`there is no store at ${folder.at('baobox')}`, ['ls']],
      ['there is no store at nowhere', ['get', '--store', 'nowhere', HEX]],
      ['there is no store at nowhere', ['fsck', '--store', 'nowhere']],
      ["there is no file 'nothing', and there is no store", ['tree', 'nothing']],
      ["'bafk' is not a CID, and there is no store", ['decode', 'bafk', 'plain']],
      ["'bafk' is not a CID, and there is no store", ['fetch', 'bafk', '--from', 'http://localhost:4700/{cid}']],
      ['ENOENT', ['hash', 'nothing']],
      ['ENOENT', ['encode', './nothing']],
      ['is a directory', ['hash', '.']],
      ['give its hash tree with --outboard', ['slice', '0', '1', 'plain']],
      ['ENOENT', ['decode', HEX, 'nothing']]
    ].map(async ([message, args]) => {
      const { code, out, err } = await folder.run(args)
      expect({ code, out }, args.join(' ')).to.deep.equal({ code: 1, out: '' })
      expectLine(err, message)
    }))
  })

  it('--json prints each error as a line of JSON on stderr, for every command that has it', async () => {
    await folder.write('there', 'abc')
    for (const [code, expected, args] of [
      [1, 'ENOENT', ['hash', 'there', 'nowhere', '--json']], [1, 'ENOENT', ['cid', '--json', 'nowhere']],
      [2, 'USAGE', ['hash', '--json', '--frob']], [2, 'USAGE', ['ls', '--json', 'a', 'b']],
      [1, 'STORE_ABSENT', ['stat', '--json', HEX, '--store', 'nowhere']],
      [1, 'STORE_ABSENT', ['gc', '--json', '--store', 'none']],
      [1, 'FETCH_EXHAUSTED', ['fetch', HEX, '--json', '--from', 'http://127.0.0.1:1/', '--retries', '0']]
    ]) {
      const got = await folder.run(args)
      const record = JSON.parse(got.err)
      const seen = [got.code, Object.keys(record), record.error.code]
      expect(seen, args.join(' ')).to.deep.equal([code, ['error'], expected])
      expect(record.error.message).to.be.a('string')
      if (args[1] === 'there') expect(JSON.parse(got.out)).to.include({ name: 'there' })
    }
    // A name of a file, or a command without the option.
    for (const args of [['hash', '--', '--json'], ['help', '--json'], ['frob', '--json']]) {
      expect((await folder.run(args)).err, args.join(' ')).to.match(/^baobox: /)
    }
  })

  it('prints a stack only when BAOBOX_DEBUG is set', async () => {
    const { code, err } = await folder.run(['hash', 'nothing'], { env: { BAOBOX_DEBUG: '1' } })
    expect(code).to.equal(1)
    expect(err).to.include('\n    at ')
  })
})
