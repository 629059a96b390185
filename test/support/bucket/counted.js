// A bucket that counts the requests that a server would get: a list of up to 1000 objects is one. Its answers come
// later, so that calls can be under way at the same time.
import { yieldToEventLoop } from '../../../lib/source/async-util.js'

const CALLS = ['get', 'head', 'put', 'putParts', 'delete', 'list']

/**
 * @param {import('../../../exchange/bucket/bucket.js').Bucket} bucket
 * @returns {{ bucket: import('../../../exchange/bucket/bucket.js').Bucket, take: () => Record<string, number> }} `take`
 *   returns the counts since the last call
 */
export function countedBucket (bucket) {
  let counts = {}
  const counted = new Proxy(bucket, {
    get (target, name) {
      const call = target[name]
      if (!CALLS.includes(name)) return typeof call === 'function' ? call.bind(target) : call
      return (...args) => {
        counts[name] = (counts[name] ?? 0) + 1
        return name === 'list' ? laterItems(call.apply(target, args)) : later(() => call.apply(target, args))
      }
    }
  })
  const take = () => {
    const taken = counts
    counts = {}
    return taken
  }
  return { bucket: counted, take }
}

async function later (call) {
  await yieldToEventLoop()
  return call()
}

async function * laterItems (items) {
  await yieldToEventLoop()
  yield * items
}
