// The promises of a bucket, over each kind of bucket.
import { memoryBucket } from '../../../exchange/bucket/index.js'
import { openR2 } from '../../../exchange/bucket/r2.js'
import { openS3 } from '../../../exchange/bucket/s3.js'
import { testBucket } from '../../support/bucket/contract.js'
import { FakeR2 } from '../../support/bucket/fake-r2.js'
import { FakeS3 } from '../../support/bucket/fake-s3.js'

const KEYS = { accessKeyId: 'key', secretAccessKey: 'secret' }

describe('a bucket in memory', () => testBucket(async () => memoryBucket()))

describe('a bucket of S3', () => {
  testBucket(async () => {
    const { url, fetch } = new FakeS3()
    return openS3({ endpoint: url, bucket: 'bucket', prefix: 'p', ...KEYS, fetch }, { partLen: 1000 })
  })
})

describe('a bucket of S3 whose lists have few keys', () => {
  testBucket(async () => {
    const server = new FakeS3()
    server.page = 2
    return openS3({ endpoint: server.url, bucket: 'bucket', ...KEYS, fetch: server.fetch }, { partLen: 1000 })
  })
})

describe('a bucket of R2', () => {
  testBucket(async () => {
    const binding = new FakeR2()
    binding.page = 3
    return openR2(binding, { prefix: 'p/q' }, { partLen: 1000 })
  })
})
