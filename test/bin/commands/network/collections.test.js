// Collections that `baobox fetch` downloads, from a server in this process that can stop answering.
import { once } from 'node:events'
import { mkdir, readFile, readdir, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { expect } from 'chai'
import { toNodeHandler } from 'srvx/node'
import { ofAnyBlob } from '../../../../bin/commands/network/places.js'
import { hash } from '../../../../lib/index.js'
import { createHandler } from '../../../../exchange/http/index.js'
import { putCollection } from '../../../../exchange/collections/index.js'
import { importDirectory } from '../../../../exchange/collections/node/index.js'
import { BlobStore } from '../../../../store/index.js'
import { hex, same } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { ended, newFolder } from '../../../support/program.js'

const FILES = { empty: noise(0), 'sub/a': noise(5, 70), 'sub/b': noise(3_000_000, 71), 'sub/zero\x1b[m': noise(9, 72) }
for (let i = 0; i < 40; i++) FILES[`many/${i}`] = noise(20_000 + i, 100 + i)
const COUNT = Object.keys(FILES).length

describe('baobox fetch -r', () => {
  let source
  let cid
  let server
  let url
  after(async () => { // before the folder is removed
    server.closeAllConnections()
    server.close()
    await source.close()
  })
  const folder = newFolder()
  const children = []
  /** How many requests are answered. Others wait for the end of the test. */
  let quota = Infinity
  const held = []
  const release = () => {
    quota = Infinity
    for (const answer of held.splice(0)) answer()
  }

  before(async () => {
    for (const name of ['tree/many', 'tree/sub']) await mkdir(folder.at(name), { recursive: true })
    for (const [name, bytes] of Object.entries(FILES)) await folder.write(`tree/${name}`, bytes)
    source = await BlobStore.open(folder.at('source'))
    cid = `${(await importDirectory(source, folder.at('tree'))).cid}`
    const handler = createHandler(source)
    server = createServer(toNodeHandler(async request => {
      if (quota-- <= 0) await new Promise(resolve => { held.push(resolve) })
      return handler(request)
    })).listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${server.address().port}`
  })
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    release()
  })

  const start = args => {
    const child = folder.start(args)
    children.push(child)
    return child
  }
  const recordsOf = out => out.trim().split('\n').map(line => JSON.parse(line))
  const expectFiles = async place => {
    for (const [name, bytes] of Object.entries(FILES)) {
      expect(same(new Uint8Array(await readFile(folder.at(place, 'tree', name))), bytes), name).to.equal(true)
    }
  }
  const deletedBy = async args => recordsOf((await folder.run([...args, '--json'])).out).pop().blobs
  const tagsOf = async (...args) => (await folder.run(['tag', '--json', ...args])).out.trim().split('\n')
    .filter(line => line !== '').map(line => JSON.parse(line).name)

  it('fetches all files from the URL of the collection, prints a line for each, and writes them', async () => {
    const args = ['fetch', '-r', `${url}/blobs/${cid}`, '--store', 'one', '--tag', 'set', '--bytes', '-o', 'out']
    const { code, out, err } = await folder.run(args)
    expect({ code, err }).to.deep.equal({ code: 0, err: '' })
    const lines = out.split('\n')
    expect(lines.filter(line => /^bafkr4\w+ +\d+ {2}(new|already there) +tree\//.test(line))).to.have.length(COUNT)
    expect(out).to.match(/ {4}3000000 {2}new {12}tree\/sub\/b\n/)
    expect(out).to.contain('tree/sub/zero\\x1b[m\n')
    expect(lines.at(-3)).to.match(new RegExp(`^${cid}  \\d{7} received, complete$`))
    await expectFiles('out')
    expect(await readdir(folder.at('out'))).to.deep.equal(['tree'])
    expect(await tagsOf('--store', 'one')).to.deep.equal(['set'])
    expect(await deletedBy(['gc', '--store', 'one'])).to.equal(0)

    const again = await folder.run(['fetch', '-r', cid, '--from', `${url}/{cid}`, '--store', 'one', '--json'])
    const records = recordsOf(again.out)
    expect(records.pop()).to.deep.include({ cid, received: 0, complete: true, members: COUNT + 1 })
    expect(records.map(({ name }) => name).sort()).to.deep.equal(Object.keys(FILES).map(name => `tree/${name}`).sort())
    for (const { received } of records) expect(received).to.equal(0)
  })

  it('leaves a folder as it is that has all files already', async () => {
    const args = ['fetch', '-r', cid, '--from', `${url}/{cid}`, '--store', 'again', '-o', 'there']
    expect((await folder.run(args)).code).to.equal(0)
    await folder.write('there/tree/mine', 'mine')
    const { mtimeMs, ino } = await stat(folder.at('there/tree/sub/b'))
    const { code, out, err } = await folder.run(args)
    expect({ code, err }).to.deep.equal({ code: 0, err: '' })
    expect(out).to.include(`\n${cid}  0 bytes received, complete, already there in there\n`)
    expect(await stat(folder.at('there/tree/sub/b'))).to.include({ mtimeMs, ino })
    const files = await Promise.all(['a/1', 'b/2'].map(async (name, i) => [name, (await source.put(noise(i + 1))).cid]))
    const two = `${(await putCollection(source, files)).cid}`
    const twice = ['fetch', '-r', two, '--from', `${url}/{cid}`, '--store', 'again', '-o', 'two']
    for (const end of ['complete', 'already there in two']) {
      const { out } = await folder.run(twice)
      expect(out).to.match(new RegExp(`${end}$`, 'm'))
    }
    await rm(folder.at('there/tree/sub/a'))
    expect((await folder.run(args)).err).to.match(/^baobox: PATH_EXISTS: .*--update/)
    await folder.clear('there')
    await mkdir(folder.at('there'))
    await folder.write('there/tree', 'a file')
    expect((await folder.run(args)).err).to.match(/^baobox: PATH_EXISTS: /)
  })

  it('with --update, as get -r, brings a folder up to date', async () => {
    const args = ['fetch', '-r', cid, '--from', `${url}/{cid}`, '--store', 'updates', '-o', 'updated']
    expect((await folder.run(args)).code).to.equal(0)
    for (const command of [args, ['get', '-r', cid, 'updated', '--store', 'updates']]) {
      await folder.write('updated/tree/many/0', 'changed')
      await folder.write('updated/tree/mine', 'mine')
      const refused = await folder.run(command)
      expect([refused.code, refused.err.includes('PATH_EXISTS')], refused.err).to.deep.equal([1, true])
      expect(await folder.run([...command, '--update'])).to.include({ code: 0, err: '' })
      await expectFiles('updated')
      expect(await readFile(folder.at('updated/tree/mine'), 'utf8')).to.equal('mine')
    }
    for (const wrong of [['fetch', cid, '--from', url, '--update'], ['fetch', '-r', cid, '--from', url, '--update'],
      ['get', cid, 'file', '--update']]) {
      expect((await folder.run(wrong)).code, wrong.join(' ')).to.equal(2)
    }
  })

  it('takes RASL URLs and hashes, and makes a mirror of all blobs from the URL of one', async () => {
    const root = hex((await source.stat(cid)).cid.multihash.digest)
    for (const [i, args] of [
      [`rasl://${cid}/`, '--from', `${url}/{hex}`], [`${url}/${root}`], [cid, '--from', `${url}/ipfs/${cid}?x=1`],
      [`${url}/blobs/{cid}`, '--cid', root]
    ].entries()) {
      const { code, out, err } = await folder.run(['fetch', '-r', ...args, '--store', `by ${i}`, '--json'])
      expect({ code, err }, args[0]).to.deep.equal({ code: 0, err: '' })
      expect(recordsOf(out).pop(), args[0]).to.include({ complete: true, members: COUNT + 1 })
    }
    const urlOf = (/** @type {string} */ name) => `https://example.org/.well-known/rasl/${name}`
    expect(ofAnyBlob(urlOf(cid))).to.equal(urlOf('{cid}'))
    expect(ofAnyBlob(`https://example.org/${root}.bin`)).to.equal('https://example.org/{hex}.bin')
    expect(() => ofAnyBlob('http://localhost:4700'))
      .to.throw('in the place of its name, as in http://localhost:4700/{cid}')
    expect(ofAnyBlob(`https://example.org/${root}?as=${root}`)).to.equal(`https://example.org/{hex}?as=${root}`)
  })

  it('continues after a kill with the missing files, and gc in between deletes none of the others', async () => {
    quota = 25
    const args = ['fetch', '-r', cid, '--from', `${url}/{cid}`, '--tag', 'set', '--json']
    const child = start(args)
    let text = ''
    while (text.split('\n').length <= 5) text += (await once(child.stdout, 'data'))[0]
    child.kill('SIGKILL')
    await once(child, 'exit')
    release()
    const there = recordsOf(text.slice(0, text.lastIndexOf('\n')))
    expect(there.length).to.be.within(5, COUNT - 1)
    expect(await tagsOf()).to.deep.equal(['set.part'])
    expect(await deletedBy(['gc'])).to.equal(0)
    expect((await folder.run(['has', ...there.map(({ cid }) => cid)])).code).to.equal(0)

    const again = await folder.run([...args, '-o', 'resumed'])
    expect(again).to.include({ code: 0, err: '' })
    const records = recordsOf(again.out)
    const { received } = records.pop()
    const news = new Map(records.map(({ name, received }) => [name, received]))
    for (const { name } of there) expect(news.get(name), name).to.equal(0)
    expect(received).to.equal(records.reduce((sum, { received }) => sum + received, 0))
    expect(await tagsOf()).to.deep.equal(['set'])
    await expectFiles('resumed')
  })

  it('is done by the server that has the store open, with a line for each file', async () => {
    const owner = start(['serve', '--store', 'served', '--socket', 'socket', '--quiet', '--put-token', 'x'])
    await once(owner.stdout, 'data')
    const args = ['fetch', '-r', cid, '--from', `${url}/{cid}`, '--store', 'served', '--tag', 'set', '--json']
    const { code, out, err } = await folder.run([...args, '-o', 'from the server'])
    expect(code, err).to.equal(0)
    expect(err).to.match(new RegExp(`is open in process ${owner.pid}, which does this now\n`))
    const records = recordsOf(out)
    expect(records.pop()).to.deep.include({ cid, complete: true, members: COUNT + 1 })
    expect(records.map(({ name }) => name).sort()).to.deep.equal(Object.keys(FILES).map(name => `tree/${name}`).sort())
    await expectFiles('from the server')
    expect(await tagsOf('--store', 'served')).to.deep.equal(['set'])
  })

  it('a command that is killed ends the download in the server, which keeps the received bytes', async () => {
    const owner = start(['serve', '--store', 'other', '--socket', 'socket2', '--quiet', '--put-token', 'x'])
    await once(owner.stdout, 'data')
    quota = 25
    const args = ['fetch', '-r', cid, '--from', `${url}/{cid}`, '--store', 'other', '--tag', 'set', '--json']
    const child = start(args)
    let text = ''
    while (text.split('\n').length <= 5) text += (await once(child.stdout, 'data'))[0]
    child.kill('SIGKILL')
    await once(child, 'exit')
    release()
    expect(await deletedBy(['gc', '--store', 'other'])).to.equal(0)
    const done = recordsOf((await ended(start(args))).out)
    expect(done.filter(({ name, received }) => name !== undefined && received === 0)).to.have.length.above(4)
    expect(done.pop()).to.include({ complete: true })
    expect(await tagsOf('--store', 'other')).to.deep.equal(['set'])
  })

  it('without -r warns that it fetches the hashes of a folder, and not its files', async () => {
    await folder.run(['fetch', '-r', `${url}/${cid}`, '--store', 'warned', '--tag', 'tree'])
    for (const args of [[`${url}/${cid}`], [cid, '--from', `${url}/{cid}`], ['tree', '--from', `${url}/{cid}`],
      [`${url}/x`, '--cid', cid, '--from', `${url}/{cid}`]]) {
      const { code, err } = await folder.run(['fetch', ...args, '--store', 'warned'])
      expect(code, args.join(' ')).to.equal(0)
      expect(err, args.join(' ')).to.match(/^baobox: warning: 'bagaac\w+' is a folder: fetching its list .* with -r /)
    }
    const readme = `${(await source.put(noise(10))).cid}`
    expect(await folder.run(['fetch', `${url}/${readme}`, '--store', 'warned'])).to.include({ code: 0, err: '' })
  })

  it('leaves nothing if nothing arrives, or if the blob is not a collection', async () => {
    const from = ['--from', `${url}/none/{cid}`]
    const { code, out, err } = await folder.run(['fetch', '-r', cid, ...from, '--store', 'none', '--tag', 'set'])
    expect({ code, out }).to.deep.equal({ code: 1, out: '' })
    expect(err).to.match(/^baobox: FETCH_EXHAUSTED/)
    expect(await readdir(folder.path)).to.not.include('none')
    const file = `${url}/${hex(hash(FILES['many/1']))}`
    const { err: why } = await folder.run(['fetch', '-r', file, '--store', 'none', '--tag', 'set'])
    expect(why).to.match(/^baobox: HASHSEQ_INVALID/)
    expect(await readdir(folder.path)).to.not.include('none')
  })

  it('refuses options that do not fit a collection', async () => {
    for (const [message, args] of [
      ['exclude', [cid, '--from', `${url}/{cid}`, '--start', '1']],
      ['OUTPUT is -', [cid, '--from', `${url}/{cid}`, '-o', '-']],
      ['put {cid} or {hex}', [cid, '--from', `${url}/file`]],
      ['excludes', [cid, 'out', '-o', 'out', '--from', `${url}/{cid}`]]
    ]) {
      const { code, err } = await folder.run(['fetch', '-r', ...args])
      expect(code, message).to.equal(2)
      expect(err).to.include(message)
    }
  })
})
