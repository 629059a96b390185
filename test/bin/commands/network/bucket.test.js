import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { bucketMirror, s3 } from '../../../../exchange/bucket/index.js'
import { fetchVerified } from '../../../../verifier/index.js'
import { FakeS3 } from '../../../support/bucket/fake-s3.js'
import { FakeS3Server, KEYS } from '../../../support/bucket/fake-s3-server.js'
import { same } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { newFolder } from '../../../support/program.js'

const cidOf = bytes => `${toCid(hash(bytes))}`

describe('baobox bucket', () => {
  const folder = newFolder()
  const other = newFolder()
  const server = new FakeS3Server()
  let fake, endpoint

  before(async () => {
    await server.start()
    endpoint = server.endpoint
  })
  after(() => server.stop())
  beforeEach(() => {
    fake = server.fake = new FakeS3()
    server.refuses = () => false
    const modified = new Date()
    fake.objects.set('v/a', { body: noise(100_000, 1), etag: '"1"', modified })
    fake.objects.set('v/b\u001bc', { body: noise(5, 2), etag: '"2"', modified })
    fake.objects.set('v/d e', { body: noise(6, 2), etag: '"3"', modified })
    fake.objects.set('w', { body: noise(7, 3), etag: '"4"', modified })
  })

  const run = (args, env = KEYS) => folder.run(['bucket', ...args], { env })

  it('adopts the objects below a prefix, and says what it has left out', async () => {
    const first = await run(['adopt', 's3://bucket/v/', '--endpoint', endpoint])
    expect(first.code).to.equal(1)
    expect(first.out.split('\n').map(line => line.split(/  +/))).to.deep.equal([
      [cidOf(noise(100_000, 1)), '97.66 KiB', 'new', 'v/a'], [cidOf(noise(6, 2)), '6 bytes', 'new', 'v/d e'], ['']
    ])
    expect(first.err).to.match(/^baobox: left out v\/b\\x1bc: BUCKET_INVALID: .*\n$/)
    const bucket = s3({ endpoint, bucket: 'bucket', accessKeyId: 'key', secretAccessKey: 'secret' })
    const response = await fetchVerified(bucketMirror(bucket), { cid: cidOf(noise(100_000, 1)) })
    expect(same(new Uint8Array(await response.arrayBuffer()), noise(100_000, 1))).to.equal(true)
    const again = await run(['adopt', 's3://bucket/v/', '--endpoint', endpoint])
    expect(again.out.match(/already there/g)).to.have.length(2)
    const read = await run(['adopt', 's3://bucket/v/', '--endpoint', endpoint, '--recheck', '--parallel', '1'])
    expect(read.out.match(/ new /g)).to.have.length(2)
  })

  it('reads many objects at the same time without a warning', async () => {
    fake.objects.clear()
    for (let i = 0; i < 40; i++) fake.objects.set(`${i}`, { body: noise(5, i), etag: `"${i}"`, modified: new Date() })
    // The first run in a folder is a process of its own.
    const args = ['bucket', 'adopt', 's3://bucket', '--endpoint', endpoint, '--parallel', '30']
    const { code, out, err } = await other.run(args, { env: KEYS })
    expect([code, err, out.match(/ new /g).length]).to.deep.equal([0, '', 40])
  })

  it('prints JSON', async () => {
    const env = { ...KEYS, AWS_ENDPOINT_URL_S3: endpoint }
    server.refuses = key => key === 'v/a'
    const { code, out, err } = await run(['adopt', 's3://bucket', '--json'], env)
    expect(code).to.equal(1)
    const results = out.trim().split('\n').map(line => JSON.parse(line))
    expect(results).to.deep.equal([
      { key: 'v/d e', cid: cidOf(noise(6, 2)), size: 6, isNew: true },
      { key: 'w', cid: cidOf(noise(7, 3)), size: 7, isNew: true }
    ])
    const errors = err.trim().split('\n').map(line => JSON.parse(line))
    expect(errors.map(({ key, error }) => [key, error.code]))
      .to.deep.equal([['v/a', 'BUCKET_REFUSED'], ['v/b\u001bc', 'BUCKET_INVALID']])
  })

  it('says what is wrong with its arguments', async () => {
    const slips = [
      [['adopt'], 'missing argument URL'], [['drop', 's3://bucket'], "unknown action 'drop'"],
      [['adopt', 'https://bucket'], 'expected s3://BUCKET/PREFIX'], [['adopt', 's3:///a'], 'expected s3://BUCKET'],
      [['adopt', 's3://bucket'], 'region'], [['adopt', 's3://a?b/', '--endpoint', endpoint], 'bucket'],
      [['adopt', 's3://bucket//a', '--endpoint', endpoint], 'prefix']
    ]
    for (const [args, expected] of slips) {
      const { code, err } = await run(args, { ...KEYS, AWS_REGION: '', AWS_DEFAULT_REGION: '' })
      expect(code, err).to.equal(2)
      expect(err).to.include(expected)
    }
    const keyless = await run(['adopt', 's3://bucket', '--endpoint', endpoint], { AWS_ACCESS_KEY_ID: '' })
    expect(keyless.code).to.equal(2)
    expect(keyless.err).to.include('accessKeyId')
  })

  it('fails when the bucket refuses the list', async () => {
    server.refuses = key => key === ''
    const { code, err } = await run(['adopt', 's3://bucket', '--endpoint', endpoint])
    expect(code).to.equal(1)
    expect(err).to.include('BUCKET_REFUSED')
  })
})
