// The bucket of the model, and what can happen to a request.

/**
 * @typedef {object} Bucket  it is never changed
 * @property {Record<string, any>} objects  by key, in order
 * @property {string[]} late  the deletes that were sent and have not arrived
 * @property {number} week  how many weeks have passed by the bucket's clock
 * @property {number | null} trouble  how often an answer may still be lost or a delete be late; null: without a limit
 *
 * @typedef {object} Outcome  one thing that may happen to a request
 * @property {string} words
 * @property {Bucket} bucket  afterwards
 * @property {any} [answer]  missing if the sender gets none: it sends the request again
 */

const sorted = objects => Object.fromEntries(Object.entries(objects).sort(([a], [b]) => a < b ? -1 : 1))

/** @param {Record<string, any>} objects @param {number | null} [trouble] @returns {Bucket} */
export const bucketOf = (objects, trouble = null) => ({ objects: sorted(objects), late: [], week: 0, trouble })

/** @param {Bucket} bucket @param {string[]} keys @returns {Bucket} */
export function without (bucket, keys) {
  const { objects } = bucket
  return { ...bucket, objects: Object.fromEntries(Object.entries(objects).filter(([key]) => !keys.includes(key))) }
}

const having = (bucket, key, value) => ({ ...bucket, objects: sorted({ ...bucket.objects, [key]: value }) })

// The requests. Each one is a function from a bucket to everything that may happen. If a request is lost before it
// arrives, or the answer to a reading one is lost, the sender repeats it: this is the same state.

/** Answers `[{ key, value }]`, in order. Values never change, so they are read with the list: see 0046. */
export const list = prefix => bucket => [{
  words: `lists ${prefix}`,
  bucket,
  answer: Object.entries(bucket.objects).filter(([key]) => key.startsWith(prefix))
    .map(([key, value]) => ({ key, value }))
}]

/** Writes, whatever is there. */
export const put = (key, value) => bucket => written(`puts ${key}`, bucket, having(bucket, key, value), true)

/** Writes if nothing is there. Answers true, or false if somebody else has written: the id in the value says so. */
export const create = (key, value) => bucket => {
  const there = bucket.objects[key]
  const words = `creates ${key} = ${JSON.stringify(value)}`
  if (there === undefined) return written(words, bucket, having(bucket, key, value), true)
  return [{ words: `${words}, which is there`, bucket, answer: there.by === value.by }]
}

/** Deletes. Answers true. The delete may arrive later, even after the sender has repeated it or crashed. */
export const remove = key => bucket => [
  ...written(`deletes ${key}`, bucket, without(bucket, [key]), true),
  ...troubled(bucket, `deletes ${key}, which arrives later`, {
    ...bucket, late: [...new Set([...bucket.late, key])].sort()
  })
]

/** A request that writes: its answer may be lost. */
const written = (words, before, bucket, answer) => [
  { words, bucket, answer },
  ...troubled(before, `${words}, and gets no answer`, bucket)
]

/** What happens if there may be trouble. */
const troubled = (before, words, bucket) => before.trouble === 0 || before === bucket
  ? []
  : [{ words, bucket: { ...bucket, trouble: bucket.trouble === null ? null : bucket.trouble - 1 } }]

/** The network: each late delete may arrive. Its step has the bucket as its only part. */
export const arrivals = bucket => bucket.late.map(key => ({
  words: `the late delete of ${key} arrives`,
  values: [{ ...without(bucket, [key]), late: bucket.late.filter(other => other !== key) }]
}))
