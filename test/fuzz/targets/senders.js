// encodeSlice and createProof over blobs and outboards that lie: nothing leaves that does not verify,
// and the fault is named.
import { ChunkRanges } from '../../../lib/index.js'
import {
  Outboard,
  appendOutboard,
  createProof,
  createProofSync,
  encodeSlice,
  encodeSliceSync,
  openEncoding,
  openOutboard,
  sliceLen
} from '../../../encoder/index.js'
import { verifyProof } from '../../../verifier/index.js'
import { concat, header, same } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { Bao } from '../../support/twin/index.js'
import { withinBudget } from '../budget.js'
import { siblingOf, someBlob, someBoundaries, someGroupLog } from '../cases.js'
import { expectCode, expectFault, expectThat } from '../finding.js'
import { oneFlipped } from '../mutations.js'
import { decodeBy, placesOf, selectedSpans, walkShape } from '../oracle.js'
import { isOfSource, spoilt, unruly } from './readers.js'

/** @import { Random } from '../random.js' */

/** A blob and its outboard, as somebody has them who may have lost or changed either. @param {Random} random */
export async function holdings (random) {
  const blob = someBlob(random)
  const groupLog = someGroupLog(random)
  const order = random.pick(['pre', 'post'])
  const pairsOf = tree => (order === 'pre' ? Bao.preOrder : Bao.postOrder)(tree, groupLog)
  const isLiar = random.chance(0.25)
  const size = isLiar ? Number(random.claim(blob.bytes.length) & (2n ** 53n - 1n)) : blob.bytes.length
  const good = pairsOf(blob.tree)
  const changed = random.chance(0.6) ? spoilt(random, good, pairsOf(siblingOf(blob).tree)) : good
  const pairs = isLiar || changed.length === good.length ? changed : good
  const bytes = random.chance(0.6) ? spoilt(random, blob.bytes, siblingOf(blob).bytes) : blob.bytes
  const missing = random.chance(0.1) ? random.below(8) : -1
  const placeOf = step => order === 'pre' ? step.pre : step.post
  const hasPair = item => !item.isStored || (placeOf(item) !== missing && placeOf(item) * 64 + 64 <= pairs.length)
  const outboard = !isLiar && missing < 0
    ? Outboard.from({ cid: blob.root, size, groupLog, order, bytes: pairs })
    : {
        root: blob.root,
        size,
        groupLog,
        copyPair (step, out, at) {
          if (!hasPair(step)) return false
          out.set(pairs.subarray(placeOf(step) * 64, placeOf(step) * 64 + 64), at)
          return true
        }
      }
  // The same pairs where they are read as they are needed.
  const withHeader = random.chance(0.3)
  const file = withHeader ? concat([header(size), pairs]) : pairs
  const told = withHeader && random.chance(0.5) ? {} : { size }
  const paged = missing < 0 && random.chance(0.4)
    ? await openOutboard(
      random.chance(0.5) ? file : { size: file.length, read: async (start, end) => file.slice(start, end) },
      { cid: blob.root, groupLog, order, header: withHeader, ...told }
    )
    : outboard
  return {
    blob,
    groupLog,
    size,
    bytes,
    outboard,
    paged,
    pairOf: item => hasPair(item) ? pairs.subarray(placeOf(item) * 64, placeOf(item) * 64 + 64) : new Uint8Array(0),
    len: bytes.length + pairs.length
  }
}

/** What must be sent, and why it ends. Pairs inside a group follow from its bytes: if they are wrong, the group is. */
function dueOf ({ blob, groupLog, size, bytes, pairOf }, boundaries) {
  const groupLen = 1024 * 2 ** groupLog
  const grown = new Map()
  const parts = []
  const groupOf = at => {
    const start = Math.floor(at / groupLen) * groupLen
    return { start, end: Math.min(start + groupLen, size) }
  }
  let shortGroup
  const take = (len, item) => {
    const part = pick(item)
    parts.push(part)
    return part
  }
  const pick = item => {
    if (item.kind === 'leaf') return bytes.subarray(item.start, item.end)
    if (item.isStored) return pairOf(item)
    const { start, end } = groupOf(item.start)
    const group = bytes.subarray(start, end)
    if (group.length < end - start) {
      shortGroup = { code: 'BAO_TRUNCATED', start, wanted: end - start, got: group.length }
      return group.subarray(0, 0)
    }
    if (!grown.has(start)) grown.set(start, pairsIn(group, start, blob.mode))
    return grown.get(start).get(`${item.start}-${item.end}`)
  }
  const due = decodeBy({
    root: blob.root,
    size,
    groupLog,
    spans: selectedSpans(size, boundaries),
    mode: blob.mode,
    take,
    known: placesOf(blob)
  })
  let { fault } = due
  if (shortGroup && fault?.code === 'BAO_TRUNCATED') fault = shortGroup
  if (fault?.code === 'BAO_PARENT_MISMATCH' && levelOf(fault.node) < groupLog) {
    const { start, end } = groupOf(fault.node * 1024)
    fault = { code: 'BAO_LEAF_MISMATCH', start, len: end - start }
  }
  return { fault, good: concat([header(size), concat(parts).subarray(0, due.len)]) }
}

const levelOf = node => node % 2 === 0 ? 0 : 1 + levelOf((node - 1) / 2)

/** All pairs of a group by the bytes below them. */
function pairsIn (group, start, mode) {
  const pairs = new Map()
  const visit = tree => {
    if (!tree.left) return
    pairs.set(`${tree.start}-${tree.end}`, concat([tree.left.cv, tree.right.cv]))
    visit(tree.left)
    visit(tree.right)
  }
  visit(Bao.growAt(group, start, mode))
  return pairs
}

/** @param {Random} random */
async function slices (random) {
  const held = await holdings(random)
  const { blob, groupLog, bytes, outboard, paged, size } = held
  const boundaries = someBoundaries(random, blob.bytes.length)
  const ranges = ChunkRanges.fromBoundaries(boundaries)
  const what = `${blob.bytes.length} bytes, ${size} claimed, groups of 2^${groupLog}, chunks [${boundaries}]`
  const { fault, good } = dueOf(held, boundaries)

  const atOnce = []
  const into = !fault && random.chance(0.3) ? random.bytes(good.length + random.below(3)) : undefined
  const error = await errorOf(() => withinBudget(
    held.len,
    () => atOnce.push(encodeSliceSync(bytes, outboard, ranges, { key: blob.key, ...into ? { into } : {} })),
    { times: 3 }
  ))
  expectFault(error, fault, `${what}, at once`)
  if (!error) {
    expectThat(
      same(atOnce[0], good) && (!into || atOnce[0].buffer === into.buffer), () => `${what}, at once: other bytes`
    )
  }
  const len = withinBudget(held.len, () => sliceLen({ size, groupLog }, ranges))
  if (!fault) expectThat(len === good.length, () => `${what}: a length of ${len}, it is ${good.length}`)

  const { manner, source } = unruly(random, bytes)
  const sent = []
  const fault2 = await errorOf(() => withinBudget(held.len, async () => {
    for await (const piece of encodeSlice(source, paged, ranges, { key: blob.key })) sent.push(piece)
  }, { times: 3 }))
  const out = concat(sent)
  if (manner === 'bytes' || manner === 'rules') {
    expectFault(fault2, fault, `${what}, ${manner}`)
    expectThat(
      same(out, good), () => `${what}, ${manner}: ${out.length} of ${good.length} good bytes were sent, or others`
    )
  } else {
    if (fault2) expectThat(isOfSource(fault2), () => `${what}, ${manner}: ${fault2.stack}`)
    // Whatever the source gave: a receiver believes all of it.
    expectThat(
      believed(out.subarray(8), held, boundaries) === out.length - 8,
      () => `${what}, ${manner}: something was sent that does not verify`
    )
  }
}

/** How many bytes of a response verify. */
function believed (response, { blob, groupLog, size }, boundaries) {
  let at = 0
  const take = len => {
    at += len
    return response.subarray(at - len, at)
  }
  return decodeBy({
    root: blob.root,
    size,
    groupLog,
    spans: selectedSpans(size, boundaries),
    mode: blob.mode,
    take,
    known: placesOf(blob)
  }).len
}

/** @param {Random} random */
async function proofs (random) {
  const held = await holdings(random)
  const { blob, groupLog, bytes, outboard, paged, size } = held
  const boundaries = someBoundaries(random, blob.bytes.length)
  if (boundaries.length === 0) return
  const ranges = ChunkRanges.fromBoundaries(boundaries)
  const what = `${blob.bytes.length} bytes, ${size} claimed, groups of 2^${groupLog}, chunks [${boundaries}]`
  const { fault } = dueOf(held, boundaries)
  const made = []
  for (const make of [
    () => createProofSync(bytes, outboard, ranges, { key: blob.key }),
    () => createProof(bytes, paged, ranges, { key: blob.key })
  ]) {
    const error = await errorOf(async () => { made.push(await make()) })
    expectFault(error, fault, what)
  }
  for (const proof of made) {
    const content = concat(proof.byteRanges.map(({ start, end }) => bytes.subarray(start, end)))
    const error = await errorOf(() => verifyProof(proof, content, { cid: blob.root, ranges, key: blob.key }))
    expectThat(error === undefined, () => `${what}: a proof does not prove: ${error.stack}`)
    if (content.length === 0) continue
    content[random.below(content.length)] ^= 1 << random.below(8)
    expectCode(
      await errorOf(() => verifyProof(proof, content, { cid: blob.root, ranges, key: blob.key })),
      ['BAO_PROOF_MISMATCH'],
      what
    )
  }
}

/** Slices out of combined encodings. @param {Random} random */
async function encodings (random) {
  const blob = someBlob(random)
  const groupLog = someGroupLog(random)
  const response = tree => Bao.response(tree, groupLog, [0])
  const size = random.chance(0.25) ? Math.min(Number(random.claim(blob.bytes.length)), 1 << 20) : blob.bytes.length
  const encoded = concat([header(size), spoilt(random, response(blob.tree), response(siblingOf(blob).tree))])
  // As far as it goes, the bytes of the blob stand in it as those of a leaf behind each other.
  const parts = []
  walkShape({ size, groupLog, spans: selectedSpans(size, [0]) }, ({ kind, start, end, pre }) => {
    if (kind === 'leaf') parts.push(encoded.subarray(8 + 64 * pre + start, 8 + 64 * pre + end))
  })
  const pairOf = ({ pre, start }) => {
    const pair = encoded.subarray(8 + 64 * pre + start, 8 + 64 * pre + start + 64)
    return pair.length < 64 ? pair.subarray(0, 0) : pair
  }
  const held = { blob, groupLog, size, bytes: concat(parts), pairOf }
  const boundaries = someBoundaries(random, blob.bytes.length)
  const what = `${blob.bytes.length} bytes, ${size} claimed, groups of 2^${groupLog}, chunks [${boundaries}], ` +
    `${encoded.length} bytes of encoding`
  const { fault, good } = dueOf(held, boundaries)
  const { source, outboard, close } = await openEncoding(
    random.chance(0.5) ? encoded : { size: encoded.length, read: async (start, end) => encoded.slice(start, end) },
    { cid: blob.root, groupLog }
  )
  const sent = []
  const error = await errorOf(() => withinBudget(encoded.length, async () => {
    for await (
      const piece of encodeSlice(source, outboard, ChunkRanges.fromBoundaries(boundaries), { key: blob.key })
    ) sent.push(piece)
  }, { times: 3 }))
  await close()
  expectFault(error, fault, what)
  expectThat(
    same(concat(sent), good),
    () => `${what}: ${concat(sent).length} of ${good.length} good bytes were sent, or others`
  )
}

/** Outboards of blobs that have grown, from outboards that may lie. @param {Random} random */
async function appends (random) {
  const blob = someBlob(random)
  const { length } = blob.bytes
  const groupLog = someGroupLog(random)
  const size = random.chance(0.2) ? Math.max(0, length + random.pick([-1024, -1, 1, 1024])) : length
  const good = Bao.postOrder(blob.tree, groupLog)
  const due = 64 * (Math.max(1, Math.ceil(size / (1024 * 2 ** groupLog))) - 1)
  const padded = concat([good, new Uint8Array(64)]).slice(0, due)
  const pairs = random.chance(0.4) ? oneFlipped(random, padded) : padded
  const tail = random.bytes(random.below(random.chance(0.2) ? 150_000 : 5000))
  const whole = concat([blob.bytes, tail])
  const source = random.chance(0.4) ? spoilt(random, whole, whole.slice().reverse()) : whole
  const what = `${length} bytes, ${size} claimed, groups of 2^${groupLog}, now ${source.length}`
  const outboard = Outboard.from({ cid: blob.root, size, groupLog, order: 'post', bytes: pairs })
  const got = []
  const error = await errorOf(() => withinBudget(
    source.length + pairs.length,
    async () => { got.push(await appendOutboard(source, outboard, { key: blob.key })) },
    { times: 3 }
  ))
  if (error) {
    expectCode(error, ['BAO_PARENT_MISMATCH', 'BAO_LEAF_MISMATCH', 'BAO_TRUNCATED'], what)
    expectThat(
      size !== length || !same(pairs, good) || !same(source.subarray(0, length), blob.bytes),
      () => `${what}: ${error.stack}`
    )
    return
  }
  // Whatever is not looked at: what is said of the blob follows from its old root, and from what has come.
  expectThat(size === length, () => `${what}: a wrong size was believed`)
  const now = Bao.grow(concat([blob.bytes, source.subarray(length)]), blob.mode)
  expectThat(same(got[0].root, now.cv) && got[0].size === source.length, () => `${what}: another root`)
  if (same(pairs, good)) expectThat(same(got[0].bytes, Bao.postOrder(now, groupLog)), () => `${what}: other pairs`)
}

export default [
  { name: 'appends', about: 'appendOutboard from outboards and to blobs that lie', run: appends },
  {
    name: 'encodings',
    about: 'encodeSlice over combined encodings that lie, opened as blob and outboard',
    run: encodings
  },
  {
    name: 'senders',
    about: 'encodeSlice and encodeSliceSync over blobs, outboards and sources that lie: what is sent ' +
      'verifies, and the fault is named',
    run: slices
  },
  { name: 'provers', about: 'createProof and createProofSync over the same', run: proofs }
]
