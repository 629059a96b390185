// The commands on a store in a bucket: --store s3://BUCKET/PREFIX.
import { once } from 'node:events'
import { mkdir, readFile, readdir } from 'node:fs/promises'
import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { createOutboardSync, encodeSliceSync } from '../../../../encoder/index.js'
import { cacheFolder } from '../../../../bin/commands/store/bucket.js'
import { FakeS3Server, KEYS } from '../../../support/bucket/fake-s3-server.js'
import { same } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { newFolder, stopped } from '../../../support/program.js'

const BYTES = noise(300_000)
const CID = `${toCid(hash(BYTES))}`
const STORE = 's3://bucket/some/place'

describe('a store in a bucket on the command line', () => {
  const folder = newFolder()
  const other = newFolder()
  const server = new FakeS3Server()
  const started = []
  let env

  before(async () => {
    await server.start()
    env = { ...KEYS, AWS_ENDPOINT_URL_S3: server.endpoint, BAOBOX_STORE: STORE }
    await folder.write('file', BYTES)
    await mkdir(folder.at('photos'))
    await folder.write('photos/a', noise(5, 1))
    await folder.write('photos/b', noise(70_000, 2))
  })
  after(() => server.stop())
  afterEach(() => { for (const child of started.splice(0)) child.kill('SIGKILL') })

  /** Runs a command that must succeed, in one of two folders with caches of their own. */
  async function run (args, { place = folder, ...options } = {}) {
    const { code, out, err } = await place.run(args, { env, ...options })
    expect(code, `${args.join(' ')}: ${err}`).to.equal(0)
    return out
  }
  const readBy = (args, options) => run(args, { ...options, place: other })

  it('keeps blobs, tags and folders, which another machine reads', async () => {
    expect(await run(['add', 'file', '--tag', 'film'])).to.match(new RegExp(`^${CID} +29`))
    expect(await run(['add', 'file'])).to.include('already there')
    const [photos] = (await run(['add', '-r', 'photos', '--tag', 'photos'])).split(' ')
    expect([...server.fake.objects.keys()].every(key => key.startsWith('some/place/'))).to.equal(true)

    await readBy(['get', 'film', 'out', '--start', '5', '--count', '100000'])
    expect(same(await readFile(other.at('out')), BYTES.subarray(5, 100_005))).to.equal(true)
    await readBy(['get', '-r', 'photos', 'album'])
    expect(same(await readFile(other.at('album/photos/b')), noise(70_000, 2))).to.equal(true)
    expect(await readBy(['ls', 'photos'])).to.include('photos/b')
    expect(await readBy(['ls'])).to.include(CID)
    expect(await readBy(['stat'])).to.match(/^blobs +5\n/)
    expect(await readBy(['stat', 'film'])).to.match(/tags +"film"/)
    expect(await readBy(['has', CID])).to.include('complete')
    expect(await readBy(['missing', 'film'])).to.equal('')
    expect(await readBy(['tag'])).to.include('"photos"')
    expect(await readBy(['diff', photos, 'album/photos'])).to.equal('')
    expect(await readBy(['cat', 'photos/photos/a'])).to.have.length.above(0)
    expect((await other.run(['has', 'f'.repeat(64)], { env })).code).to.equal(1)
  })

  it('joins blobs, receives slices, exports and imports archives', async () => {
    const [first, second] = [noise(40_000, 5), noise(50_000, 6)]
    await folder.write('first', first)
    await folder.write('second', second)
    await run(['add', 'first', 'second'])
    const cids = [first, second].map(bytes => `${toCid(hash(bytes))}`)
    const joined = `${toCid(hash(Buffer.concat([first, second])))}`
    expect(await run(['concat', ...cids, '--tag', 'both'])).to.include(joined)
    const third = noise(60_000, 7)
    await folder.write('slice', encodeSliceSync(third, createOutboardSync(third)))
    expect(await run(['receive', `${toCid(hash(third))}`, 'slice'])).to.include('complete')
    await readBy(['export', joined, '-o', 'archive.car'])
    expect(await readBy(['import', 'archive.car', '--store', 's3://bucket/elsewhere'])).to.include('block')
    expect(await readBy(['has', joined, '--store', 's3://bucket/elsewhere'])).to.include('complete')
    expect(await readBy(['outboard', joined, 'joined.obao4'])).to.equal('')
  })

  it('deletes and collects, and is checked', async () => {
    const bytes = noise(1000, 8)
    await folder.write('doomed', bytes)
    await run(['add', 'doomed', '--tag', 'doomed'])
    const refused = await folder.run(['rm', `${toCid(hash(bytes))}`], { env })
    expect([refused.code, refused.err.includes('STORE_TAGGED')]).to.deep.equal([1, true])
    await run(['tag', '--delete', 'doomed'])
    await run(['rm', `${toCid(hash(bytes))}`])
    expect((await other.run(['has', `${toCid(hash(bytes))}`], { env })).code).to.equal(1)
    expect(await run(['gc'])).to.match(/^deleted 0 blobs/) // what has no tag is younger than a day
    expect(await run(['fsck'])).to.include('checked')
    const key = [...server.fake.objects.keys()].find(key => key.endsWith(`/${hexOf(BYTES)}`))
    server.fake.objects.get(key).body[7] ^= 1
    const damaged = await other.run(['fsck'], { env })
    expect([damaged.code, damaged.out.startsWith(CID)]).to.deep.equal([1, true])
    expect(await run(['fsck', '--repair'])).to.include('damaged')
    expect(await readBy(['fsck'])).to.include('checked')
  })

  it('is read with the options of the server, and by programs that must not write', async () => {
    const plain = { ...KEYS, AWS_ENDPOINT_URL_S3: '', BAOBOX_STORE: '' }
    const options = ['--store', STORE, '--endpoint', server.endpoint, '--region', 'here', '--cache', 'own']
    expect(await run(['has', CID, ...options], { env: plain })).to.include('complete')
    expect(await readdir(folder.at('own'))).to.not.deep.equal([])
    const refused = await folder.run(['add', 'file', ...options, '--cache-quota', '1KiB'], { env: plain })
    expect([refused.code, refused.err.includes('STORE_FULL')]).to.deep.equal([1, true])
    expect(refused.err).to.include('the local store must hold the whole blob')
  })

  it('says what is wrong with its arguments', async () => {
    const slips = [
      [['has', CID, '--store', 's3:bucket'], 'expected s3://BUCKET/PREFIX'],
      [['has', CID, '--store', 's3://bucket//a'], 'prefix'],
      [['has', CID, '--store', folder.at('dir'), '--cache', 'a'], '--cache is for a store in a bucket'],
      [['has', CID, '--store', folder.at('dir'), '--endpoint', 'a'], '--endpoint is for a store in a bucket'],
      [['add', 'file', '--reference'], '--reference needs a store in a folder'],
      [['compact'], 'baobox compact is for stores in folders'], [['rescue'], 'baobox rescue is for stores in folders'],
      [['serve', '--origin', 'https://a.example/{cid}'], '--origin needs a store in a folder']
    ]
    for (const [args, expected] of slips) {
      const { code, err } = await folder.run(args, { env })
      expect(err).to.include(expected)
      expect(code, err).to.be.oneOf([1, 2])
    }
    const absent = await folder.run(['ls', '--store', 's3://absent'], { env: { ...env, AWS_ACCESS_KEY_ID: '' } })
    expect([absent.code, absent.err.includes('accessKeyId')]).to.deep.equal([2, true])
  })

  /** Starts a server of the store. */
  async function serving (args, place = folder) {
    const child = place.start(['serve', '--port', '0', ...args], { env })
    started.push(child)
    let text = ''
    while (!text.includes('\n')) text += (await once(child.stdout, 'data'))[0]
    return { child, url: text.split('  ')[0], first: text.trim() }
  }

  it('is served by two processes at once, which have caches of their own', async () => {
    await run(['add', 'file', '--tag', 'film'])
    const token = ['--put-token', 'secret', '--allow-writes']
    const servers = [await serving(token), await serving(['--allow-tags'])]
    expect(servers[0].first).to.equal(`${servers[0].url}  ${STORE}`)
    const caches = (await readdir(folder.at('cache', 'baobox'))).map(name => name.replace(/^[\da-f]+/, ''))
    expect(caches).to.include('').and.to.include('.2')
    for (const { url } of servers) {
      const response = await fetch(`${url}/${CID}`, { headers: { range: 'bytes=100000-199999' } })
      expect(same(new Uint8Array(await response.arrayBuffer()), BYTES.subarray(100_000, 200_000))).to.equal(true)
    }
    const bytes = noise(90_000, 9)
    const headers = { authorization: 'Bearer secret' }
    const put = await fetch(`${servers[0].url}/blobs`, { method: 'POST', headers, body: bytes })
    const { cid } = await put.json()
    expect((await fetch(`${servers[0].url}/tags/new?cid=${cid}`, { method: 'PUT', headers })).status).to.equal(200)
    const got = await fetch(`${servers[1].url}/blobs/new`)
    expect(same(new Uint8Array(await got.arrayBuffer()), bytes)).to.equal(true)
    const busy = await folder.run(['has', CID, '--cache', await usedCache(servers[0])], { env })
    expect([busy.code, busy.err.includes('another process uses the cache')]).to.deep.equal([1, true])
    // A command is its own process, although a server runs.
    expect(await run(['has', `${cid}`])).to.include('complete')
    for (const { child } of servers) expect(await stopped(child, 'SIGTERM')).to.equal(0)
  })

  it('sends clients to the bucket with --redirect', async () => {
    await run(['add', 'file', '--tag', 'film'])
    const { url } = await serving(['--redirect'])
    const headers = { range: 'bytes=5-104' }
    const redirect = await fetch(`${url}/${CID}`, { headers, redirect: 'manual' })
    expect(redirect.status).to.equal(307)
    expect(redirect.headers.get('location')).to.match(/^http:\/\/127.0.0.1:\d+\/bucket\/some\/place\/blobs\//)
    const followed = await fetch(`${url}/${CID}`, { headers })
    expect([followed.status, followed.redirected]).to.deep.equal([206, true])
    expect(same(new Uint8Array(await followed.arrayBuffer()), BYTES.subarray(5, 105))).to.equal(true)
    const fetched = await other.run(['fetch', `${url}/${CID}`, 'fetched'], { env: { ...env, BAOBOX_STORE: '' } })
    expect(fetched.code, fetched.err).to.equal(0)
    const { code, err } = await folder.run(['serve', '--redirect', '--store', folder.at('dir')], { env })
    expect([code, err.includes('--redirect needs a store in a bucket')]).to.deep.equal([2, true])
  })

  /** The default cache, which the first server uses. */
  const usedCache = async () => {
    const [name] = (await readdir(folder.at('cache', 'baobox'))).filter(name => /^[\da-f]+$/.test(name))
    return folder.at('cache', 'baobox', name)
  }

  it('has its cache where the system wants caches', () => {
    expect(cacheFolder({ platform: 'linux', env: {}, home: '/home/a' })).to.equal('/home/a/.cache')
    expect(cacheFolder({ platform: 'linux', env: { XDG_CACHE_HOME: '/c' }, home: '/home/a' })).to.equal('/c')
    expect(cacheFolder({ platform: 'linux', env: { XDG_CACHE_HOME: 'c' }, home: '/home/a' })).to.equal('/home/a/.cache')
    expect(cacheFolder({ platform: 'darwin', env: {}, home: '/Users/a' })).to.equal('/Users/a/Library/Caches')
    expect(cacheFolder({ platform: 'win32', env: { LOCALAPPDATA: 'L' }, home: 'H' })).to.match(/^L.cache$/)
  })
})

const hexOf = bytes => Buffer.from(hash(bytes)).toString('hex')
