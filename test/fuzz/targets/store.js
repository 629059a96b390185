// The store: what it makes of slices that lie.
import { MemoryLevel } from 'memory-level'
import { ChunkRanges } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { verifySlice } from '../../../verifier/index.js'
import { concat, header, same } from '../../support/bytes.js'
import { GROUP, VIEWS } from '../../support/constants.js'
import { errorOf, joined, stream } from '../../support/feeding.js'
import { Bao } from '../../support/twin/index.js'
import { someBoundaries, someStored } from '../cases.js'
import { expectCode, expectFault, expectThat, finding } from '../finding.js'
import { lieAbout, responseOf } from '../mutations.js'
import { inPieces } from '../random.js'
import { dueFor, told } from './slices.js'

/** @import { Random } from '../random.js' */

const GROUP_LOG = 4

/** @param {Random} random */
async function receive (random) {
  const store = await BlobStore.open({ index: new MemoryLevel(VIEWS), data: new MemoryLevel(VIEWS) })
  try {
    const blob = someStored(random)
    const here = new Set()
    let isSizeProven = false
    for (let count = random.between(1, 4); count > 0; count--) {
      const sent = lyingSlice(random, blob)
      await received(store, sent)
      if (!same(sent.lie.root, blob.root)) continue
      for (const group of sent.groups) here.add(group)
      isSizeProven ||= here.size > 0 && sent.due.isSizeProven
      await expectHere(store, blob, here, isSizeProven)
    }
    await expectReadable(random, store, blob, here)
  } finally {
    await store.close()
  }
}

/** Several at the same time, of the same blob; and readers meanwhile. @param {Random} random */
async function crowd (random) {
  const store = await BlobStore.open({ index: new MemoryLevel(VIEWS), data: new MemoryLevel(VIEWS) })
  try {
    const blob = someStored(random)
    const all = Array.from({ length: random.between(2, 4) }, () => lyingSlice(random, blob))
    const start = random.below(blob.bytes.length)
    const reading = async () => {
      const got = []
      const error = await errorOf(
        async () => { for await (const piece of store.get(blob.root, { start })) got.push(piece) }
      )
      const out = concat(got)
      expectThat(same(out, blob.bytes.subarray(start, start + out.length)), () => 'wrong bytes came out meanwhile')
      if (error) expectCode(error, ['STORE_NOT_FOUND', 'STORE_MISSING'], 'meanwhile')
    }
    await Promise.all([...all.map(sent => received(store, sent)), reading(), reading()])
    const good = all.filter(({ lie }) => same(lie.root, blob.root))
    const here = new Set(good.flatMap(({ groups }) => groups))
    // Who proves the size and brings nothing is heard only by those who have something.
    const isProven = good.some(({ due, groups }) => due.isSizeProven && groups.length > 0)
    const mayBeProven = here.size > 0 && good.some(({ due }) => due.isSizeProven)
    if (isProven === mayBeProven) await expectHere(store, blob, here, isProven)
    await expectReadable(random, store, blob, here)
  } finally {
    await store.close()
  }
}

/** A slice that lies, and what must come of it. @param {Random} random @param {import('../cases.js').Blob} blob */
function lyingSlice (random, blob) {
  const boundaries = random.chance(0.4) ? [0] : someBoundaries(random, blob.bytes.length)
  const truth = { blob, groupLog: GROUP_LOG, boundaries, items: Bao.items(blob.tree, GROUP_LOG, boundaries) }
  const lie = { ...lieAbout(random, truth), groupLog: GROUP_LOG, key: undefined }
  const hasHeader = lie.size > BigInt(Number.MAX_SAFE_INTEGER) || random.chance(0.7)
  const bytes = hasHeader ? concat([header(lie.size), responseOf(lie)]) : responseOf(lie)
  const due = dueFor(truth, lie, bytes, hasHeader)
  return {
    truth, lie, hasHeader, pieces: inPieces(random, bytes), due, groups: wholeGroups(due.leaves, Number(lie.size))
  }
}

/** @param {BlobStore} store @param {ReturnType<typeof lyingSlice>} sent */
async function received (store, { truth, lie, hasHeader, pieces, due }) {
  const options = hasHeader ? {} : { size: Number(lie.size) }
  const error = await errorOf(
    store.receive(lie.root, stream(pieces), ChunkRanges.fromBoundaries(lie.boundaries), options)
  )
  try {
    expectFault(error, due.fault)
  } catch (error) {
    throw told(error, 'receive', truth, lie)
  }
}

/**
 * The groups that came in one piece. (A group of which all is wanted is one leaf; one that is wanted in
 * part never comes whole.)
 */
function wholeGroups (runs, size) {
  return runs.flatMap(({ offset, bytes }) => {
    const end = offset + bytes.length
    const last = end === size ? Math.ceil(end / GROUP) : Math.floor(end / GROUP)
    return Array.from({ length: last }, (_, group) => group).slice(Math.ceil(offset / GROUP))
  })
}

/** What is here is what has been proven. */
async function expectHere (store, blob, here, isSizeProven) {
  const { length } = blob.bytes
  const groups = Math.ceil(length / GROUP)
  const stat = []
  const error = await errorOf(async () => { stat.push(await store.stat(blob.root)) })
  if (here.size === 0 && error) return expectCode(error, ['STORE_NOT_FOUND'], 'stat')
  if (error) finding(`stat: ${error.stack}`)
  const [{ present, sizeProven, complete, size }] = stat
  for (let group = 0; group < groups + 2; group++) {
    expectThat(
      present.has(group * 16) === here.has(group),
      () => `group ${group} is ${here.has(group) ? 'not ' : ''}here: [${present.boundaries}]`
    )
  }
  expectThat(sizeProven === isSizeProven, () => `sizeProven is ${sizeProven}`)
  expectThat(!sizeProven || size === length, () => `a size of ${size} is told, it is ${length}`)
  expectThat(complete === (sizeProven && here.size === groups), () => `complete is ${complete}`)
}

/** Whatever is here comes out right; whatever is not is missing. */
async function expectReadable (random, store, blob, here) {
  const { bytes, root } = blob
  if (here.size === 0) return
  for (let count = 3; count > 0; count--) {
    const start = random.below(bytes.length)
    const end = Math.min(bytes.length, start + 1 + random.below(1 << random.between(1, 17)))
    const isHere = Array.from(
      { length: Math.ceil(end / GROUP) }, (_, group) => group
    ).slice(Math.floor(start / GROUP)).every(group => here.has(group))
    const got = []
    const error = await errorOf(async () => { got.push(await store.bytes(root, { start, end })) })
    if (!isHere) expectCode(error, ['STORE_MISSING'], `${start} to ${end}`)
    else if (error) finding(`${start} to ${end}: ${error.stack}`)
    else expectThat(same(got[0], bytes.subarray(start, end)), () => `${start} to ${end}: other bytes`)
    if (!isHere) continue
    const parts = []
    for await (const part of store.slice(root, { start, end })) parts.push(part)
    const leaves = joined(verifySlice(concat(parts), { cid: root, ranges: { start, end } }))
    for (const { offset, bytes: part } of leaves) {
      expectThat(
        same(part, bytes.subarray(offset, offset + part.length)), () => `slice of ${start} to ${end}: other bytes`
      )
    }
  }
}

export default [
  { name: 'crowds', about: 'several slices that lie, received at the same time, and readers meanwhile', run: crowd },
  {
    name: 'receive',
    about: 'BlobStore.receive, fed with slices that lie, one after the other; and what is then said to be here',
    run: receive
  }
]
