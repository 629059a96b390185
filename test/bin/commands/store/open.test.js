import { mkdir, readdir } from 'node:fs/promises'
import { expect } from 'chai'
import { dataFolder } from '../../../../bin/commands/store/open.js'
import { hash, toCid } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { ended, newFolder } from '../../../support/program.js'

const cid = `${toCid(hash(new TextEncoder().encode('b')))}`

describe('the store of a command', () => {
  const folder = newFolder()
  before(() => folder.write('b', 'b'))

  it('is in the data folder of the user', () => {
    const home = '/home/me'
    expect(dataFolder({ platform: 'linux', env: {}, home })).to.equal('/home/me/.local/share')
    expect(dataFolder({ platform: 'linux', env: { XDG_DATA_HOME: '/data' }, home })).to.equal('/data')
    expect(dataFolder({ platform: 'linux', env: { XDG_DATA_HOME: 'data' }, home })).to.equal('/home/me/.local/share')
    expect(dataFolder({ platform: 'darwin', env: {}, home })).to.equal('/home/me/Library/Application Support')
    expect(dataFolder({ platform: 'win32', env: { LOCALAPPDATA: 'C:\\me' }, home })).to.equal('C:\\me')
  })

  it('is that of --store, else that of BAOBOX_STORE, else the one in the data folder', async () => {
    const env = { BAOBOX_STORE: folder.at('deep', 'down') }
    await folder.run(['add', 'b', '--store', 'named'], { env })
    expect((await folder.run(['ls', '--store', 'named'])).out).to.equal(`${cid}\n`)
    expect((await folder.run(['ls'], { env })).code).to.equal(1)
    await folder.run(['add', 'b'], { env })
    expect((await folder.run(['ls'], { env })).out).to.equal(`${cid}\n`)
    await folder.run(['add', 'b'], { env: { BAOBOX_STORE: '' } })
    expect(await readdir(folder.path)).to.include.members(['named', 'deep', 'baobox'])
  })

  it('is not left empty by a command that failed', async () => {
    await mkdir(folder.at('full'))
    await folder.write('full/other', 'other')
    const before = await readdir(folder.path)
    for (const args of [
      ['add', 'nothing', '--store', 'new/er'],
      ['add', 'nothing', '--store', 'full'],
      ['receive', cid, 'b', '--store', 'new/er'],
      ['receive', 'no tag', 'b', '--store', 'new']
    ]) {
      expect(await folder.run(args), args.join(' ')).to.include({ code: 1, out: '' })
    }
    expect(await readdir(folder.path)).to.deep.equal(before)
    expect(await readdir(folder.at('full'))).to.deep.equal(['other'])
  })

  it('is waited for with --wait, and can be read during that time', async () => {
    await folder.run(['add', 'b', '--store', 'busy'])
    const busy = await BlobStore.open(folder.at('busy'))
    const adding = folder.start(['add', 'b', '--store', 'busy', '--wait'])
    adding.stdin.end()
    const added = ended(adding)
    expect(await folder.run(['add', 'b', '--store', 'busy'])).to.include({ code: 1 })
    expect(await folder.run(['ls', '--store', 'busy', '--read-only'])).to.include({ out: `${cid}\n`, err: '' })
    await busy.close()
    expect(await added).to.include({ code: 0, err: '' })
  })

  it('stays if something was put before the failure', async () => {
    expect((await folder.run(['add', 'b', 'nothing', '--store', 'partly'])).code).to.equal(1)
    expect((await folder.run(['ls', '--store', 'partly'])).out).to.equal(`${cid}\n`)
    expect((await folder.run(['add', 'nothing', '--store', 'partly'])).code).to.equal(1)
    expect((await folder.run(['ls', '--store', 'partly'])).out).to.equal(`${cid}\n`)
  })
})
