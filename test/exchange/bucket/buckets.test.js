// The promises of a bucket, over each kind of bucket.
import { memoryBucket } from '../../../exchange/bucket/index.js'
import { S3Bucket } from '../../../exchange/bucket/s3.js'
import { testBucket } from '../../support/bucket/contract.js'
import { FakeS3 } from '../../support/bucket/fake-s3.js'

describe('a bucket in memory', () => testBucket(async () => memoryBucket()))

describe('a bucket of S3', () => {
  testBucket(async () => {
    const { url, fetch } = new FakeS3()
    const keys = { accessKeyId: 'key', secretAccessKey: 'secret' }
    return new S3Bucket({ endpoint: url, bucket: 'bucket', prefix: 'p', ...keys, fetch }, { partLen: 1000 })
  })
})
