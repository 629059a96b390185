// Commands on a store that a server has open, with real processes.
import { expect } from 'chai'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { encodeSliceSync, createOutboardSync } from '../../../../encoder/index.js'
import { hash, toCid } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { noise } from '../../../support/inputs.js'
import { newFolder } from '../../../support/program.js'

const ONE = noise(100_000, 31)
const TWO = noise(3_000_000, 32)
const OTHER = noise(200_000, 33)
const LONG = noise(17 * 2 ** 20 + 1, 34)
const cidOf = bytes => `${toCid(hash(bytes))}`

describe('a store that a server has open', () => {
  const folder = newFolder()
  const address = () => folder.at('baobox', 'serve.json')
  let server
  before(async () => {
    await folder.write('one', ONE)
    await folder.write('two', TWO)
    await folder.write('slice', encodeSliceSync(ONE, createOutboardSync(ONE), { start: 0, end: 50_000 }))
    await (await BlobStore.open(folder.at('baobox'))).close()
    server = folder.start(['serve', '--socket', 'socket', '--quiet'])
    await once(server.stdout, 'data')
  })
  after(() => server.kill('SIGKILL'))

  const run = async (args, options) => {
    const { code, out, err } = await folder.run(args, options)
    const [line, ...errors] = err.split('\n')
    expect(line, args.join(' ')).to.equal(
      `baobox: the store at ${folder.at('baobox')} is open in process ${server.pid}, which does this now`)
    return { code, out, err: errors.join('\n') }
  }

  it('is changed through the server, whose address is in a file that only the user can read', async () => {
    if (process.platform !== 'win32') expect(statSync(address()).mode & 0o777).to.equal(0o600)
    const added = await run(['add', '--json', '--tag', 'two', '-'], { input: TWO })
    expect(JSON.parse(added.out)).to.deep.equal({ name: '-', cid: cidOf(TWO), size: TWO.length, isNew: true })
    const received = await run(['receive', '--json', cidOf(ONE), 'slice', '--end', '50000'])
    expect(JSON.parse(received.out)).to.deep.include({ received: 49_152, complete: false })
    const twice = Buffer.concat([TWO, TWO])
    const joined = await run(['concat', 'two', 'two', '--json'])
    expect(JSON.parse(joined.out)).to.deep.equal({ cid: cidOf(twice), size: twice.length, isNew: true })
    await run(['rm', cidOf(twice)])
    await run(['tag', 'second', 'two'])
    const { out, err } = await folder.run(['tag', '--json'])
    expect(err).to.contain('reading it as it is now')
    expect(out.trim().split('\n').map(line => JSON.parse(line).name)).to.deep.equal(['second', 'two'])
    const [gone] = (await run(['gc', '--json'])).out.split('\n')
    expect(JSON.parse(gone)).to.deep.equal({ cid: cidOf(ONE), bytes: 49_152 })
    expect(await run(['tag', '--delete', 'two'])).to.include({ code: 0 })
  })

  it('takes archives, and frees disk space', async () => {
    const bytes = noise(50_000, 36)
    await folder.run(['add', '-', '--store', 'other', '--tag', 'a'], { input: bytes })
    const { bytes: archive } = await folder.run(['export', '--store', 'other'])
    const { out } = await run(['import', '--tag', 'archive', '--json'], { input: archive })
    expect(JSON.parse(out)).to.include({ version: 1, blocks: 1, bytes: bytes.length, skipped: 0 })
    expect(await run(['tag', '--delete', 'archive'])).to.include({ code: 0 })
    const broken = await run(['import'], { input: archive.subarray(0, -1) })
    expect(broken).to.include({ code: 1 })
    expect(broken.err).to.match(/^baobox: (CAR|CID)_\w+: /)
    const removed = await run(['rm', '--json', cidOf(bytes)])
    expect(JSON.parse(removed.out)).to.deep.equal({ name: cidOf(bytes), cid: cidOf(bytes) })
    expect(await run(['compact'])).to.include({ code: 0, out: '', err: '' })
  })

  it('joins more blobs than fit into the headers of a request', async () => {
    const bytes = noise(10, 35)
    await run(['add', '-'], { input: bytes })
    const joined = Buffer.concat(Array(600).fill(bytes))
    const { out } = await run(['concat', ...Array(600).fill(cidOf(bytes)), '--json'])
    expect(JSON.parse(out)).to.deep.equal({ cid: cidOf(joined), size: 6000, isNew: true })
    await run(['rm', cidOf(joined)])
    await run(['rm', cidOf(bytes)])
  })

  it('gets blobs that its server downloads: from URLs, from a RASL URL, whole or in part', async () => {
    const blobs = { [`/${cidOf(ONE)}`]: ONE, '/other': OTHER, '/long': LONG }
    const web = createServer(({ url }, response) => {
      const bytes = blobs[url]
      response.writeHead(bytes === undefined ? 404 : 200).end(bytes)
    }).listen(0, '127.0.0.1')
    await once(web, 'listening')
    const at = `http://127.0.0.1:${web.address().port}`
    const cid = cidOf(ONE)
    try {
      const part = await run(['fetch', `${at}/${cid}`, '--start', '0', '--end', '10', '--json'])
      expect(JSON.parse(part.out)).to.include({ cid, received: 16_384, complete: false })
      const rest = await run(['fetch', `rasl://${cid}/`, '--from', `${at}/{cid}`, '--tag', 'web/one', '--json'])
      expect(JSON.parse(rest.out)).to.include({ received: ONE.length - 16_384, complete: true })
      expect(JSON.parse(rest.out).mirrors).to.deep.equal([{ location: at, state: 'good', bytes: ONE.length - 16_384 }])
      const long = await run(['fetch', `${at}/long`, '--cid', cidOf(LONG), '--max-unverified', '17MiB'])
      expect(long.code).to.equal(1)
      expect(long.err).to.include('longer than 17825792 bytes')
      const other = await run(['fetch', `${at}/other`, '--cid', cidOf(OTHER), '--tag', 'web/other', '--bytes'])
      expect(other.out).to.include(`${cidOf(OTHER)}  200000 of 200000 received, complete\n`)
      const none = await run(['fetch', `${at}/none`, '--cid', cidOf(ONE.subarray(1))])
      expect(none.code).to.equal(1)
      const start = `baobox: FETCH_EXHAUSTED: no mirror is left: ${at}/none answers with status 404: add a mirror with`
      expect(none.err.slice(0, start.length)).to.equal(start)
    } finally {
      web.close()
      web.closeAllConnections()
    }
    for (const [name, bytes] of [['web/one', ONE], ['web/other', OTHER]]) {
      expect(Buffer.compare((await folder.run(['get', name])).bytes, bytes), name).to.equal(0)
      await run(['tag', '--delete', name])
    }
    await run(['rm', cid])
    await run(['rm', cidOf(OTHER)])
  })

  it('gets folders and references that its server reads, by paths relative to the command', async () => {
    await mkdir(folder.at('photos'))
    await writeFile(folder.at('photos', 'one'), OTHER.subarray(2))
    await writeFile(folder.at('photos', 'other'), OTHER.subarray(3))
    const site = JSON.parse((await run(['add', '-r', '--manifest', 'photos', '--json'])).out)
    expect((await folder.run(['ls', site.cid])).out).to.equal('/one\n/other\n')
    const added = JSON.parse((await run(['add', '-r', 'photos', '--tag', 'photos', '--known', 'known', '--json'])).out)
    expect(added).to.deep.include({ name: 'photos', size: 2 * OTHER.length - 5, files: 2, isNew: true })
    const again = JSON.parse((await run(['add', '-r', 'photos', '--json'])).out)
    expect(again).to.deep.include({ cid: added.cid, isNew: false })
    expect(existsSync(folder.at('known'))).to.equal(true)
    const { out } = await folder.run(['ls', 'photos'])
    expect(out).to.equal('photos/one\nphotos/other\n')

    await folder.write('referred', OTHER.subarray(1))
    const referred = JSON.parse((await run(['add', '--reference', '--json', 'referred'])).out)
    expect(referred).to.deep.include({ name: 'referred', cid: cidOf(OTHER.subarray(1)), isNew: true })
    await rm(folder.at('referred'))
    expect((await folder.run(['get', referred.cid, 'copy'])).code, 'it is read where it was').to.equal(1)
    if (process.platform !== 'win32') {
      await writeFile(folder.at('photos', 'back\\slash'), '')
      const { code, err } = await run(['add', '-r', 'photos', '--skip-errors'])
      expect(code).to.equal(1)
      expect(err).to.match(/^baobox: left out photos\/back\\\\slash: PATH_UNSAFE: .*\n$/)
    }
    expect(await run(['add', '-r', 'nowhere'])).to.deep.include({ code: 1, out: '' })
  })

  it('gives the errors of the store itself', async () => {
    const { code, err } = await run(['add', '--expect', cidOf(TWO.subarray(1)), 'two'])
    expect([code, err]).to.deep.equal([1,
      `baobox: CID_MISMATCH: the bytes do not have the hash in ${cidOf(TWO.subarray(1))}: they are ${cidOf(TWO)}\n`])
    expect(await run(['rm', 'one'])).to.deep.equal({
      code: 1, out: '', err: "baobox: 'one' is neither a CID nor a tag of the store\n"
    })
    const other = await folder.run(['fsck'])
    expect(other.code).to.equal(1)
    expect(other.err).to.match(/^baobox: STORE_LOCKED: .*: end that process, or wait longer with --wait\n$/)
  })

  it('keeps nothing of a blob whose sender is killed', async () => {
    const adding = folder.start(['add', '-'])
    adding.stdin.write(ONE)
    await once(adding.stderr, 'data') // the command has found the server
    adding.kill('SIGKILL')
    await once(adding, 'close')
    expect((await folder.run(['has', cidOf(ONE)])).out).to.equal(`${cidOf(ONE)}  absent\n`)
  })

  it('is used directly when the server has ended, even if its file is still there', async () => {
    server.kill('SIGKILL')
    await once(server, 'exit')
    expect(existsSync(address())).to.equal(true)
    const { code, err } = await folder.run(['add', 'one', '--wait', '60', '--expect', cidOf(ONE)])
    expect([code, err]).to.deep.equal([0, ''])
    expect(existsSync(address())).to.equal(false)
    const { out } = await folder.run(['ls', '--order', 'created', '--reverse', '--limit', '1', '--read-only'])
    expect(out).to.equal(`${cidOf(ONE)}\n`)
  })
})
