// The store: what it makes of slices that lie, and of records in which bits have flipped.
import { MemoryLevel } from 'memory-level'
import { ChunkRanges } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { doomedKey, hashOfKey, placeOfKey } from '../../../store/storage/format/keys.js'
import {
  encodeDoomed, encodeRecord, encodeState, encodeTime, decodeDoomed, decodeRecord, decodeState, decodeTime
} from '../../../store/storage/format/records.js'
import { checkOf } from '../../../store/storage/format/codec.js'
import { verifySlice } from '../../../verifier/index.js'
import { concat, header, same } from '../../support/bytes.js'
import { GROUP, VIEWS } from '../../support/constants.js'
import { errorOf, joined, stream } from '../../support/feeding.js'
import { Bao } from '../../support/twin/index.js'
import { someBoundaries, someStored } from '../cases.js'
import { expectCode, expectFault, expectThat, finding } from '../finding.js'
import { lieAbout, oneFlipped, responseOf } from '../mutations.js'
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
    const leaves = joined(verifySlice(concat(parts), { root, ranges: { start, end } }))
    for (const { offset, bytes: part } of leaves) {
      expectThat(
        same(part, bytes.subarray(offset, offset + part.length)), () => `slice of ${start} to ${end}: other bytes`
      )
    }
  }
}

/**
 * Bytes mean what they were made of, and nothing when any of them is another.
 *
 * @param {Random} random @param {string} name @param {Uint8Array} good
 * @param {(bytes: Uint8Array) => any} decode @param {any} value
 */
function expectOnly (random, name, good, decode, value) {
  const got = decode(good)
  expectThat(
    typeof value === 'object' ? Object.keys(value).every(key => got[key] === value[key]) : got === value,
    () => `a ${name} that means something else: ${JSON.stringify(got)}`
  )
  const xor = random.between(1, 255)
  for (let at = 0; at < good.length; at++) {
    const bytes = good.slice()
    bytes[at] ^= xor
    expectThat(decode(bytes) === undefined, () => `a ${name} with byte ${at} changed by ${xor} was believed`)
    expectThat(decode(good.slice(0, at)) === undefined, () => `a ${name} cut at ${at} was believed`)
  }
  expectThat(
    decode(concat([good, random.bytes(random.between(1, 9))])) === undefined, () => `a longer ${name} was believed`
  )
  expectThat(decode(random.bytes(random.below(60))) === undefined, () => `noise was believed to be a ${name}`)
}

/** @param {Random} random */
function records (random) {
  const number = () => Number(random.claim(random.below(5000)) & (2n ** 53n - 1n))
  const root = random.bytes(32)
  const record = {
    id: number() % 2 ** 48,
    size: number() || 1,
    sizeProven: random.chance(0.5),
    complete: random.chance(0.5),
    created: number() % 8.64e15,
    home: random.pick(['extents', 'file', 'reference']),
    isNameless: random.chance(0.5)
  }
  const state = { version: 1, isClean: random.chance(0.5), swept: number(), nextId: number() }
  const id = number()
  expectOnly(random, 'record', encodeRecord(root, record), bytes => decodeRecord(root, bytes), record)
  expectOnly(random, 'state', encodeState(state), decodeState, state)
  const ids = [id, ...Array.from({ length: random.below(4) }, () => random.below(2 ** 40))]
  expectOnly(random, 'doomed', encodeDoomed(ids), bytes => decodeDoomed(doomedKey(id), bytes), ids)
  expectThat(
    decodeRecord(random.bytes(32), encodeRecord(root, record)) === undefined,
    () => 'the record of another blob was believed'
  )
  for (const never of [{ size: 0 }, { size: 2 ** 53 }, { size: 2 ** 63 }, { id: 2 ** 48 }, { created: 8.64e15 + 1 }]) {
    expectThat(
      decodeRecord(root, encodeRecord(root, { ...record, ...never })) === undefined,
      () => `a record that was never written was believed: ${Object.entries(never)}`
    )
  }
  for (const bits of [0x18, 0x20, 0x40, 0x80]) {
    const bytes = encodeRecord(root, record).slice(0, -8)
    bytes[16] |= bits
    const decoded = decodeRecord(root, concat([bytes, checkOf(root, bytes)]))
    expectThat(decoded === undefined, () => `a record with the flags ${bytes[16]} was believed`)
  }
  // No checksum: whatever they say must be possible.
  const time = decodeTime(
    random.chance(0.5) ? oneFlipped(random, encodeTime(Date.now())) : random.bytes(random.below(12))
  )
  expectThat(time === undefined || !isNaN(new Date(time).getTime()), () => `a time of ${time}`)
  const key = random.bytes(random.chance(0.7) ? 17 : random.below(40))
  const place = placeOfKey(key)
  if (place) {
    for (const part of Object.values(place)) {
      expectThat(
        Number.isSafeInteger(part), () => `a key that means ${JSON.stringify(place)}`
      )
    }
  }
  hashOfKey(key)
}

export default [
  { name: 'crowds', about: 'several slices that lie, received at the same time, and readers meanwhile', run: crowd },
  {
    name: 'receive',
    about: 'BlobStore.receive, fed with slices that lie, one after the other; and what is then said to be here',
    run: receive
  },
  {
    name: 'records',
    about: 'records, states, notes, times and keys with every byte changed and cut at every byte',
    run: records
  }
]
