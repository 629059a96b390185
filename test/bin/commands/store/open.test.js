import { once } from 'node:events'
import { mkdir, readdir } from 'node:fs/promises'
import { expect } from 'chai'
import { dataFolder } from '../../../../bin/commands/store/open.js'
import { hash, toCid } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { serve } from '../../../../exchange/http/node/index.js'
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

  it('is waited for while another process has it open, and can be read during that time', async () => {
    await folder.run(['add', 'b', '--store', 'busy'])
    const busy = await BlobStore.open(folder.at('busy'))
    const added = []
    const expectToWait = async (wait, limit) => {
      const child = folder.start(['add', 'b', '--store', 'busy', ...wait])
      child.stdin.end()
      added.push(ended(child))
      const [line] = await once(child.stderr, 'data')
      const [, seconds] = /^baobox: .* open\b.*: waiting for at most (\d+) s more\n$/.exec(`${line}`) ?? []
      expect(Number(seconds), `${line}`).to.be.within(1, limit)
    }
    await expectToWait(['--wait', '600'], 600)
    const refused = await folder.run(['add', 'b', '--store', 'busy', '--wait', '0'])
    expect(refused).to.include({ code: 1, out: '' })
    expect(refused.err).to.match(/^baobox: STORE_LOCKED: .*: end that process, or wait longer with --wait\n$/)
    expect(await folder.run(['ls', '--store', 'busy', '--read-only'])).to.include({ out: `${cid}\n`, err: '' })
    await expectToWait([], 10) // last, because it waits for no longer
    await busy.close()
    for (const result of await Promise.all(added)) expect(result).to.include({ code: 0 })
  })

  it('is put into by several processes at once, and made by one of them', async () => {
    const names = ['p0', 'p1', 'p2', 'p3', 'p4']
    for (const name of names) await folder.write(name, name)
    const started = (args, store) => {
      const child = folder.start([...args, '--store', store, '--wait', '600'])
      child.stdin.end()
      return ended(child)
    }
    const listed = async store => (await folder.run(['ls', '--store', store])).out.split('\n').filter(Boolean).sort()
    const cids = names.map(name => `${toCid(hash(new TextEncoder().encode(name)))}`).sort()
    for (const { code, err } of await Promise.all(names.map(name => started(['add', name], 'shared')))) {
      expect(code, err).to.equal(0)
    }
    expect(await listed('shared')).to.deep.equal(cids)

    const source = await BlobStore.open(folder.at('shared'))
    const server = await serve(source)
    try {
      const fetched = await Promise.all(cids.map(cid => started(['fetch', `${server.url}/blobs/${cid}`], 'fetched')))
      for (const { code, err } of fetched) expect(code, err).to.equal(0)
    } finally {
      await server.close()
      await source.close()
    }
    expect(await listed('fetched')).to.deep.equal(cids)
  })

  it('keeps what other processes put into it while a failed command deletes it, or one does not wait', async () => {
    for (const [i, wait] of [[], ['--wait', '0'], [], ['--wait', '0']].entries()) {
      const store = ['--store', `raced${i}`]
      const children = ['nothing', 'p0', 'p1', 'p2'].map(name => folder.start(['add', name, ...store, ...wait]))
      for (const child of children) child.stdin.end()
      const codes = (await Promise.all(children.map(ended))).map(({ code }) => code)
      const kept = codes.filter(code => code === 0).length
      const { out } = await folder.run(['ls', ...store])
      expect(out.split('\n').filter(Boolean), `${codes}`).to.have.length(kept)
    }
  })

  it('stays if something was put before the failure', async () => {
    expect((await folder.run(['add', 'b', 'nothing', '--store', 'partly'])).code).to.equal(1)
    expect((await folder.run(['ls', '--store', 'partly'])).out).to.equal(`${cid}\n`)
    expect((await folder.run(['add', 'nothing', '--store', 'partly'])).code).to.equal(1)
    expect((await folder.run(['ls', '--store', 'partly'])).out).to.equal(`${cid}\n`)
  })
})
