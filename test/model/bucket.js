// The bucket of the model, and what can happen to a request.

/**
 * @typedef {object} Bucket  it is never changed
 * @property {Record<string, any>} objects  by key, in order
 * @property {Late[]} late  the requests that were sent and have not arrived
 * @property {number} week  how many weeks have passed by the bucket's clock
 * @property {number | null} trouble  how often an answer may still be lost or a request be late; null: without a limit
 * @property {boolean} lateWrites  whether writes may be late, too, and not only deletes
 *
 * @typedef {{ key: string, value?: any, ifAbsent?: boolean }} Late  a delete, or the write of a value
 *
 * @typedef {object} Outcome  one thing that may happen to a request
 * @property {string} words
 * @property {Bucket} bucket  afterwards
 * @property {any} [answer]  missing if the sender gets none: it sends the request again
 */

const sorted = objects => Object.fromEntries(Object.entries(objects).sort(([a], [b]) => a < b ? -1 : 1))

/**
 * @param {Record<string, any>} objects
 * @param {Partial<Pick<Bucket, 'trouble' | 'lateWrites' | 'late'>>} [options]
 * @returns {Bucket}
 */
export const bucketOf = (objects, { late = [], trouble = null, lateWrites = false } = {}) =>
  ({ objects: sorted(objects), late, week: 0, trouble, lateWrites })

/** @param {Bucket} bucket @param {string} key @returns {Bucket} */
export function without (bucket, key) {
  const { [key]: _, ...objects } = bucket.objects
  return { ...bucket, objects }
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
export const put = (key, value) => bucket => changed(`puts ${key}`, bucket, { key, value })

/** Writes if nothing is there. Answers true, or false if somebody else has written: the id in the value says so. */
export const create = (key, value) => bucket => {
  const there = bucket.objects[key]
  const words = `creates ${key} = ${JSON.stringify(value)}`
  if (there === undefined) return changed(words, bucket, { key, value, ifAbsent: true })
  return [{ words: `${words}, which is there`, bucket, answer: there.by === value.by }]
}

/** Deletes. Answers true. */
export const remove = key => bucket => changed(`deletes ${key}`, bucket, { key })

/**
 * A request that changes something: it arrives, or its answer is lost, or it arrives later, even after the sender has
 * repeated it or crashed.
 */
function changed (words, bucket, request) {
  const mayBeLate = !request.value || bucket.lateWrites
  const late = distinct([...bucket.late, request])
  return [
    { words, bucket: arrived(bucket, request), answer: true },
    ...troubled(bucket, `${words}, and gets no answer`, arrived(bucket, request)),
    ...mayBeLate ? troubled(bucket, `${words}, which arrives later`, { ...bucket, late }) : []
  ]
}

const arrived = (bucket, { key, value, ifAbsent }) => {
  if (!value) return without(bucket, key)
  return ifAbsent && bucket.objects[key] ? bucket : having(bucket, key, value)
}

/** What happens if there may be trouble. */
const troubled = (before, words, bucket) => before.trouble === 0
  ? []
  : [{ words, bucket: { ...bucket, trouble: before.trouble === null ? null : before.trouble - 1 } }]

/** @param {Late[]} requests @returns {Late[]} in a canonical order */
const distinct = requests => [...new Set(requests.map(request => JSON.stringify(request)))].sort()
  .map(text => JSON.parse(text))

/** The network: each late request may arrive. Its step has the bucket as its only part. */
export const arrivals = bucket => bucket.late.map((request, i) => ({
  words: `the late ${request.value ? 'write' : 'delete'} of ${request.key} arrives`,
  values: [{ ...arrived(bucket, request), late: bucket.late.toSpliced(i, 1) }]
}))
