// A store in a bucket keeps the contract of all stores.
import { MemoryLevel } from 'memory-level'
import { testStore } from '../../../contract/index.js'
import { BucketStore, memoryBucket } from '../../../../exchange/bucket/index.js'

const levels = () => ({ index: new MemoryLevel(), data: new MemoryLevel() })

/** Counts the objects of blobs, but not those that were received in part. */
async function countObjects ({ bucket }) {
  let count = 0
  for await (const { key } of bucket.list('blobs/')) if (!key.endsWith('.obao4')) count++
  return count
}

describe('bucket store: the contract', () => {
  testStore({
    describe,
    it,
    newPlace: () => ({ bucket: memoryBucket(), local: levels() }),
    open: ({ bucket, local }) => BucketStore.open(bucket, { local }),
    countEntries: countObjects
  })
})
