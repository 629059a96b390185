// A process that uses a store in a bucket, as its parent says. The parent kills it at any request.
import { BucketStore } from '../../../exchange/bucket/index.js'
import { openS3 } from '../../../exchange/bucket/s3.js'
import { hash, toCid } from '../../../lib/index.js'
import { concat } from '../../../lib/core/bytes.js'
import { SHORT_WAITS } from '../short-waits.js'
import { contentOf } from './content.js'

const { options, local } = JSON.parse(process.argv[2])
const PART_LEN = 5 << 20
const bucket = openS3(options, { clock: SHORT_WAITS, partLen: PART_LEN })
const store = await BucketStore.open(bucket, { local, untaggedTtl: 0, quota: 64 << 20 })

const rootOf = number => hash(contentOf(number))
const sequenceOf = members => concat(members.map(rootOf))

/** What the parent can ask for. A number names a content. */
const CALLS = {
  put: ({ name, content }) => store.put(contentOf(content), { tag: name }),
  async putThenTag ({ name, content }) {
    const { cid } = await store.put(contentOf(content))
    await store.tags.set(name, cid)
  },
  // Another process may have put it.
  async tag ({ name, content }) {
    const cid = toCid(rootOf(content))
    await store.tags.set(name, cid)
    return { isThere: await store.has(cid) }
  },
  async putSequence ({ name, members }) {
    const hold = store.tempTag()
    try {
      for await (const { cid } of store.putMany(members.map(contentOf), { tag: hold })) hold.add(cid)
      await store.put(sequenceOf(members), { tag: name, format: 'hashseq' })
    } finally {
      hold.release()
    }
  },
  untag: ({ name }) => store.tags.delete(name),
  async delete ({ content }) { await store.delete(toCid(rootOf(content))) },
  async gc () { return store.gc() },
  async read ({ content }) {
    const cid = toCid(rootOf(content))
    const bytes = await store.bytes(cid)
    if (Buffer.compare(bytes, contentOf(content)) !== 0) throw new Error(`wrong bytes of ${content}`)
  }
}

process.on('message', async ({ id, call, args }) => {
  try {
    const result = await CALLS[call](args)
    process.send({ id, result: result && JSON.parse(JSON.stringify(result)) })
  } catch (error) {
    const { code, stack, cause } = error
    process.send({ id, error: { code, stack: `${stack}\n${cause?.stack ?? ''}` } })
  }
})
process.on('disconnect', () => process.exit())
process.send({ isReady: true })
