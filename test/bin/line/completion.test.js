import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { SHELLS, completionOf } from '../../../bin/line/completion.js'
import { COMMANDS, TABLE } from '../../../bin/table/index.js'
import { newFolder } from '../../support/program.js'

const isHere = shell => spawnSync(shell, ['-c', 'exit 0']).status === 0

describe('baobox completion', () => {
  const folder = newFolder()

  for (const shell of SHELLS) {
    it(`prints a script for ${shell}, which has every command and option, and is valid`, async function () {
      const { code, out } = await folder.run(['completion', shell])
      expect(code).to.equal(0)
      expect(out).to.equal(completionOf(shell, TABLE))
      for (const [name, { options }] of Object.entries(COMMANDS)) {
        expect(out).to.match(new RegExp(`\\b${name}\\b`))
        for (const option of Object.keys(options)) expect(out).to.include(shell === 'fish' ? `-l ${option}` : option)
      }
      if (!isHere(shell)) this.skip()
      await writeFile(folder.at('script'), out)
      const { status, stderr } = spawnSync(shell, ['-n', folder.at('script')], { encoding: 'utf8' })
      expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' })
    })
  }

  it('in bash completes commands, options and values', async function () {
    if (!isHere('bash')) this.skip()
    await writeFile(folder.at('script'), completionOf('bash', TABLE))
    const completed = (...words) => {
      const script = '. ./script; COMP_WORDS=(baobox "$@"); COMP_CWORD=$#; _baobox; echo "$' + '{COMPREPLY[*]}"'
      return spawnSync('bash', ['-c', script, 'bash', ...words], { cwd: folder.path, encoding: 'utf8' }).stdout.trim()
    }
    expect(completed('de')).to.equal('decode decode-slice demo')
    expect(completed('tree', '--s')).to.equal('--store --svg')
    expect(completed('completion', '')).to.equal('bash zsh fish')
    expect(completed('help', 'fs')).to.equal('fsck')
    expect(completed('get', '--store', '')).to.equal('')
    expect(completed('unknown', '-')).to.equal('')
    expect(completed('--store', 'x', 'com')).to.equal('compact completion')
    expect(completed('--json', '-o', 'ls', 'com')).to.equal('compact completion')
    expect(completed('--store', 'com')).to.equal('')
    expect(completed('--store', 'x', 'tree', '--s')).to.equal('--store --svg')
  })

  describe('completes the tags of the store', () => {
    const PROGRAM = fileURLToPath(new URL('../../../bin/baobox.js', import.meta.url))
    // The shells call the program by its name.
    const withProgram = script => `baobox () { "${process.execPath}" "${PROGRAM}" "$@"; }\n${script}`
    before(async () => {
      await folder.write('b', 'b')
      await folder.write('ofile', 'b')
      for (const tag of ['site', 'site/two', 'other', 'a b', '$(touch evil)', 'x "site', '--force']) {
        await folder.run(['add', 'b', '--store', 'tagged', '--tag', tag])
      }
    })
    after(() => expect(existsSync(folder.at('evil')), 'a tag was run as a command').to.equal(false))

    it('in bash', async function () {
      if (!isHere('bash')) this.skip()
      await writeFile(folder.at('script'), withProgram(completionOf('bash', TABLE)))
      const completed = (env, ...words) => {
        const script = '. ./script; COMP_WORDS=(baobox "$@"); COMP_CWORD=$#; _baobox; echo "$' + '{COMPREPLY[*]}"'
        const options = { cwd: folder.path, encoding: 'utf8', env: { ...process.env, BAOBOX_STORE: env } }
        return spawnSync('bash', ['-c', script, 'bash', ...words], options).stdout.trim()
      }
      expect(completed('tagged', 'get', '')).to.equal('other site site/two')
      expect(completed('tagged', 'get', '$(')).to.equal('')
      expect(completed('none', 'cat', '--store', 'tagged', 's')).to.equal('site site/two')
      expect(completed('tagged', 'add', '--tag', 'o')).to.equal('other')
      expect(completed('tagged', 'serve', '--site', 'si')).to.equal('site site/two')
      expect(completed('tagged', 'push', 'o')).to.equal('other ofile')
      expect(completed('tagged', 'push', '--tag', 'o')).to.equal('other')
      expect(completed('none', '--store', 'tagged', 'cat', 's')).to.equal('site site/two')
      expect(completed('tagged', 'hash', '--tag', 's'), 'hash --tag has no value').to.equal('')
      expect(completed('tagged', 'add', 's')).to.equal('')
      expect(completed('none', 'get', '')).to.equal('')
    })

    it('in zsh', async function () {
      if (!isHere('zsh')) this.skip()
      await writeFile(folder.at('script'), withProgram(completionOf('zsh', TABLE)))
      const script = 'compdef () {}; . ./script; compadd () { print -r -- $@ }; typeset -A opt_args; ' +
        'opt_args[--store]=tagged; _baobox_tags'
      const { stdout } = spawnSync('zsh', ['-fc', script], { cwd: folder.path, encoding: 'utf8' })
      expect(stdout.trim()).to.equal('-- other site site/two')
    })

    it('in zsh also after options, and for push', async function () {
      if (!isHere('zsh')) this.skip()
      await writeFile(folder.at('script'), completionOf('zsh', TABLE))
      const completed = (...words) => {
        const script = 'compdef () {}; . ./script; _describe () { print -r -- $1 }; _files () { print files }; ' +
          '_arguments () { print -r -- "$CURRENT $words" $@[-1] }; words=(baobox "$@"); CURRENT=$#words; _baobox'
        return spawnSync('zsh', ['-fc', script, 'zsh', ...words], { cwd: folder.path, encoding: 'utf8' }).stdout.trim()
      }
      expect(completed('')).to.equal('command')
      expect(completed('--store', 'x', '')).to.equal('command')
      expect(completed('--store', '')).to.equal('files')
      expect(completed('rm', 'x')).to.equal('2 rm x *:CID:_baobox_tags')
      expect(completed('--store', 'x', '--json', 'rm', 'y', '')).to.equal('6 rm --store x --json y  *:CID:_baobox_tags')
      expect(completed('push', '')).to.equal('2 push  :SOURCE:_baobox_sources')
    })

    it('in fish', async function () {
      if (!isHere('fish')) this.skip()
      const program = `function baobox; "${process.execPath}" "${PROGRAM}" $argv; end\n`
      await writeFile(folder.at('script'), program + completionOf('fish', TABLE))
      const { stdout } = spawnSync('fish', ['-c', "source script; complete -C 'baobox get --store tagged s'"],
        { cwd: folder.path, encoding: 'utf8' })
      expect(stdout.trim().split('\n')).to.include.members(['site', 'site/two'])
    })
  })

  it('in fish completes commands and options', async function () {
    if (!isHere('fish')) this.skip()
    await writeFile(folder.at('script'), completionOf('fish', TABLE))
    const completed = line => spawnSync('fish', ['-c', `source script; complete -C '${line}'`],
      { cwd: folder.path, encoding: 'utf8' }).stdout.split('\n').filter(Boolean).map(text => text.split('\t')[0])
    expect(completed('baobox de')).to.deep.equal(['decode', 'decode-slice', 'demo'])
    expect(completed('baobox tree --s')).to.have.members(['--store', '--svg'])
    expect(completed('baobox completion ')).to.include.members(SHELLS)
    expect(completed('baobox --store x com')).to.deep.equal(['compact', 'completion'])
    expect(completed('baobox --store x tree --s')).to.have.members(['--store', '--svg'])
  })
})
