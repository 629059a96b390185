// Stores in one bucket, each with a local store of its own, as different processes have them.
import { MemoryLevel } from 'memory-level'
import { BucketStore } from '../../../exchange/bucket/index.js'
import { hash, toCid } from '../../../lib/index.js'
import { hex } from '../bytes.js'

/** @param {import('../../../exchange/bucket/bucket.js').Bucket} bucket */
export const openStore = (bucket, options = {}) =>
  BucketStore.open(bucket, { local: { index: new MemoryLevel(), data: new MemoryLevel() }, untaggedTtl: 0, ...options })

/** Runs work with a store, and closes it. */
export async function withStore (bucket, work, options) {
  const store = await openStore(bucket, options)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Collects until no blobs are left. A Date has no milliseconds, so objects of this second may count as new. */
export async function collectAll (store, bucket) {
  for (let tries = 0; tries < 200; tries++) {
    await store.gc()
    if ((await keysIn(bucket, 'blobs/')).length === 0) return
  }
}

/**
 * A bucket in which something else happens just before the first write of an object.
 *
 * @param {import('../../../exchange/bucket/bucket.js').Bucket} bucket
 * @param {(key: string) => boolean} isMeant @param {() => Promise<unknown>} act
 */
export function withBefore (bucket, isMeant, act) {
  let isDone = false
  const put = async (key, ...rest) => {
    if (!isDone && isMeant(key)) {
      isDone = true
      await act()
    }
    return bucket.put(key, ...rest)
  }
  return changedBucket(bucket, { put })
}

/**
 * A bucket with other properties.
 *
 * @param {import('../../../exchange/bucket/bucket.js').Bucket} bucket @param {Record<string, unknown>} properties
 */
export const changedBucket = (bucket, properties) => new Proxy(bucket, {
  get (target, name) {
    if (name in properties) return properties[name]
    return typeof target[name] === 'function' ? target[name].bind(target) : target[name]
  }
})

export const cidOf = bytes => toCid(hash(bytes))

/** The key of a blob. @param {Uint8Array} bytes */
export const keyOfBytes = bytes => `blobs/${hex(hash(bytes)).slice(0, 2)}/${hex(hash(bytes))}`

/** @param {import('../../../exchange/bucket/bucket.js').Bucket} bucket */
export async function keysIn (bucket, prefix = '') {
  const keys = []
  for await (const { key } of bucket.list(prefix)) keys.push(key)
  return keys
}
