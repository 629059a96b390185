// Expectations of a blob that is present in part.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { same } from '../bytes.js'
import { collect } from '../feeding.js'
import { sliceOf } from './stores.js'

/** Expects that the chunks that the store reports as present are right, and that the others are missing. */
export async function expectPartial (store, bytes, present) {
  const root = hash(bytes)
  expect((await store.stat(root)).present.boundaries).to.deep.equal(present.boundaries)
  for (const { start, end } of present.toBytes(bytes.length)) {
    const got = await store.bytes(root, { start, end })
    expect(same(got, bytes.subarray(start, end)), `bytes ${start} to ${end}`).to.equal(true)
    const inner = await store.bytes(root, { start: start + 1, end: end - 1 }, { verify: false })
    expect(same(inner, bytes.subarray(start + 1, end - 1))).to.equal(true)
  }
  const slice = await collect(store.slice(root, present))
  expect(same(slice, sliceOf(bytes, present)), 'the slice of all of it').to.equal(true)
}
