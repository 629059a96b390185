// Expectations of blobs that were made of others: they are like blobs that were put.
import { expect } from 'chai'
import { MAX_GROUP_LOG, hash } from '../../../lib/index.js'
import { encodeSliceSync } from '../../../encoder/index.js'
import { hex, same } from '../bytes.js'
import { strideAtEffort } from '../effort.js'
import { collect } from '../feeding.js'
import { outboardOf } from '../outboards.js'

/** Expects that the store has this blob with its whole tree. */
export async function expectBlob (store, { cid, size }, bytes) {
  expect(hex(cid.multihash.digest), 'root').to.equal(hex(hash(bytes)))
  expect(size, 'size').to.equal(bytes.length)
  expect(same(await store.bytes(cid), bytes), 'bytes').to.equal(true)
  const { isSound, ...report } = await store.fsck({ cids: [cid] })
  if (!isSound) expect.fail(JSON.stringify(report))
}

/** Makes a blob of another one, by replacing the bytes from `start` to `end`. */
export const splice = (store, cid, { start, end, source }, options) => store.compose([
  { cid, end: start },
  ...source === undefined ? [] : [{ source }],
  ...end === undefined ? [] : [{ cid, start: end }]
], options)

/** Makes one blob of several. */
export const joined = (store, cids, options) => store.compose(cids.map(cid => ({ cid })), options)

/** Expects that slices and outboards of the blob are those of its bytes, at every group log. */
export async function expectSlices (store, cid, bytes) {
  expect(same((await store.outboard(cid)).bytes, outboardOf(bytes).bytes), 'outboard').to.equal(true)
  for (let groupLog = 0; groupLog <= MAX_GROUP_LOG; groupLog += strideAtEffort()) {
    const expected = encodeSliceSync(bytes, outboardOf(bytes, groupLog))
    const got = await collect(store.slice(cid, undefined, { groupLog }))
    expect(same(got, expected), `slice at group log ${groupLog}`).to.equal(true)
  }
}
