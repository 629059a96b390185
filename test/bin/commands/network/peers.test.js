// Peers of iroh on the command line, reached at their addresses on this machine.
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { same } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { absence } from '../../../support/iroh.js'
import { newFolder, stopped } from '../../../support/program.js'
import { skipAloud } from '../../../support/vectors.js'

const BYTES = noise(100_000, 61)
const CID = `${toCid(hash(BYTES))}`
const PACKAGE = new URL('../../../../node_modules/@number0/iroh', import.meta.url)
/** A ticket of a peer that does not exist. */
const TICKET = 'blob' + 'a'.repeat(109)

describe('a ticket on the command line', () => {
  const folder = newFolder()
  const children = []
  afterEach(() => { for (const child of children.splice(0)) child.kill('SIGKILL') })
  const errorOf = async (...args) => {
    const { code, err } = await folder.run(args)
    return { code, err: err.trim() }
  }

  it('excludes --cid, and must be a valid ticket', async () => {
    expect((await errorOf('fetch', TICKET, '--cid', CID)).err).to.include('--cid is for a URL')
    expect((await errorOf('fetch', `${TICKET.slice(0, -1)}b`)).err).to.include('TICKET_INVALID')
    expect((await errorOf('fetch', CID, '--no-relays', '--from', 'http://localhost/')).code).to.equal(2)
    expect((await errorOf('serve', '--ticket', CID)).err).to.include('--iroh')
  })

  if (absence !== undefined) {
    it('names the package to install', async function () {
      const { code, err } = await errorOf('fetch', TICKET)
      if (existsSync(PACKAGE)) this.skip() // another suite has installed it in the meantime
      expect(code).to.equal(1)
      expect(err).to.match(/^baobox: IROH_ABSENT: .*npm install @number0\/iroh/)
    })
    return skipAloud('peers on the command line', absence)
  }

  it('fetches a blob from `serve --iroh` into a store, a file and stdout', async () => {
    await folder.write('file', BYTES)
    await folder.run(['add', '--tag', 'a-tag', 'file'])
    await folder.run(['add', '-r', '--tag', 'set', 'file'])
    const names = ['a-tag', 'set'].flatMap(name => ['--ticket', name])
    const server = folder.start(['serve', '--port', '0', '--iroh', '--no-relays', '--json', ...names])
    children.push(server)
    let out = ''
    while (out.split('\n').length < 5) out += (await once(server.stdout, 'data'))[0]
    const [, { iroh }, ...tickets] = out.trim().split('\n').map(line => JSON.parse(line))
    expect(iroh.id).to.match(/^[0-9a-f]{64}$/)
    expect(tickets.map(({ name }) => name)).to.deep.equal(['a-tag', 'set'])
    const [{ ticket }, { ticket: sequence }] = tickets

    const there = ['--no-relays', '--store', 'there', '--bytes']
    const fetched = await folder.run(['fetch', ticket, ...there, '--tag', 'mine'])
    expect(fetched.out).to.match(new RegExp(`^${CID}  100000 [^\n]*complete\n`))
    await folder.run(['fetch', ticket, 'copy', '--no-relays'])
    expect(same(new Uint8Array(await readFile(folder.at('copy'))), BYTES)).to.equal(true)
    await folder.run(['fetch', ticket, 'part', '--no-relays', '--start', '10', '--end', '20'])
    expect(same(new Uint8Array(await readFile(folder.at('part'))), BYTES.subarray(10, 20))).to.equal(true)

    expect((await errorOf('fetch', sequence, '-')).code).to.equal(2)
    const files = await folder.run(['fetch', sequence, ...there, '--tag', 'set', '-o', 'folder'])
    expect(files.out).to.match(/ 100000 {2}already there {2}file\n/)
    const { out: tags } = await folder.run(['tag', '--store', 'there'])
    expect(tags).to.match(/hashseq {2}"set"/)
    expect(same(new Uint8Array(await readFile(folder.at('folder/file'))), BYTES)).to.equal(true)

    const owner = folder.start(['serve', '--store', 'there', '--port', '0', '--quiet'])
    children.push(owner)
    await once(owner.stdout, 'data')
    await folder.run(['rm', '--force', CID, '--store', 'there'])
    const asked = await folder.run(['fetch', '-r', sequence, ...there])
    expect(asked.err).to.include('which does this now')
    expect(asked.out).to.match(/ 100000 {2}new {12}file\n/)

    expect(await stopped(server)).to.equal(0)
  })
})
