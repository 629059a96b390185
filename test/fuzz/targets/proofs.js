// Proofs that lie, to Proof.fromBytes and verifyProof.
import { ChunkRanges } from '../../../lib/index.js'
import { createOutboardSync, createProofSync } from '../../../encoder/index.js'
import { Proof, verifyProof } from '../../../verifier/index.js'
import { concat, header, same } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { cvBytes, modeOf, parent, rootBytes, subtree } from '../../support/twin/index.js'
import { leftLen } from '../../support/twin/blake3.js'
import { chunkCount } from '../../support/twin/tree.js'
import { withinBudget } from '../budget.js'
import { otherKey, siblingOf, someBlob, someBoundaries } from '../cases.js'
import { expectFault, expectThat } from '../finding.js'
import { oneFlipped } from '../mutations.js'
import { selectedSpans, wantedOf } from '../oracle.js'

/** @import { Random } from '../random.js' */

/**
 * What must come of a proof: a code, or the size and the spans that it speaks of. By recursion, from
 * the bytes alone.
 */
function judge (bytes, content, { root, spans: asked, mode }) {
  if (bytes.length < 12) return { code: 'BAO_BAD_PROOF' }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const size = view.getBigUint64(0, true)
  if (size >= 2n ** 53n) return { code: 'BAO_SIZE_TOO_LARGE' }
  const count = view.getUint32(8, true)
  if (bytes.length < 12 + 16 * count) return { code: 'BAO_BAD_PROOF' }
  const numbers = Array.from({ length: 2 * count }, (_, i) => view.getBigUint64(12 + 8 * i, true))
  for (let i = 0, last = -1n; i < numbers.length; last = numbers[i++]) {
    if (numbers[i] >= 2n ** 53n) return { code: 'BAO_SIZE_TOO_LARGE' }
    if (numbers[i] <= last) return { code: 'BAO_BAD_PROOF' }
  }
  const spans = Array.from({ length: count }, (_, i) => [Number(numbers[2 * i]), Number(numbers[2 * i + 1])])
  if (count === 0 || spans.at(-1)[1] > chunkCount(Number(size))) return { code: 'BAO_BAD_PROOF' }
  return judgeParts(
    { size: Number(size), spans, siblings: bytes.subarray(12 + 16 * count) }, content, { root, asked, mode }
  )
}

function judgeParts ({ size, spans, siblings }, content, { root, asked, mode }) {
  let next = 0
  let at = 0
  let isShort = false
  const take = (from, len) => {
    if (from.length < len) isShort = true
    return from.length < len ? new Uint8Array(len) : from
  }
  const visit = (start, end, isRoot) => {
    if (isShort) return new Uint8Array(32)
    const wanted = wantedOf(spans, start, end)
    if (wanted === 'none') {
      next += 32
      return take(siblings.subarray(next - 32, next), 32)
    }
    if (wanted === 'all') {
      const part = content.subarray(at, at + end - start)
      at += end - start
      const last = subtree(part, start / 1024, mode)
      return isRoot ? rootBytes(last) : cvBytes(last)
    }
    const split = start + leftLen(end - start)
    // Siblings stand in the order of their parents, so a right one comes before all that is on the left.
    const sibling = wantedOf(spans, split, end) === 'none' ? visit(split, end, false) : undefined
    const left = visit(start, split, false)
    const last = parent(left, sibling ?? visit(split, end, false), mode)
    return isRoot ? rootBytes(last) : cvBytes(last)
  }
  const contentLen = spans.reduce((sum, [start, end]) => sum + Math.min(end * 1024, size) - start * 1024, 0)
  const folded = contentLen === content.length ? visit(0, size, true) : undefined
  const spansOfAsked = asked && asked(size)
  if (folded !== undefined && (isShort || next !== siblings.length)) return { code: 'BAO_BAD_PROOF' }
  if (spansOfAsked && `${spansOfAsked}` !== `${spans}`) return { code: 'BAO_BAD_PROOF' }
  if (folded === undefined) return { code: 'BAO_BAD_PROOF' }
  if (!same(folded, root)) return { code: 'BAO_PROOF_MISMATCH' }
  return { size, spans, content }
}

/** @type {Record<string, (random: Random, lie: any, truth: any) => void>} */
const LIES = {
  flip: (random, lie) => { lie.bytes = oneFlipped(random, lie.bytes) },
  header: (random, lie) => { lie.bytes = concat([header(random.claim(lie.size)), lie.bytes.subarray(8)]) },
  content: (random, lie) => { lie.content = oneFlipped(random, lie.content) },
  shorter: (random, lie) => { lie.bytes = lie.bytes.slice(0, random.below(lie.bytes.length + 1)) },
  longer: (random, lie) => { lie.bytes = concat([lie.bytes, random.bytes(random.pick([1, 8, 16, 31, 32, 64]))]) },
  fewer: (random, lie) => { lie.content = lie.content.slice(0, random.below(lie.content.length + 1)) },
  more: (random, lie) => { lie.content = concat([lie.content, random.bytes(random.between(1, 2000))]) },
  root: (random, lie, { blob }) => { lie.root = random.pick([siblingOf(blob).root, oneFlipped(random, lie.root)]) },
  key: (random, lie) => { lie.key = otherKey(random, lie.key) },
  boundary (random, lie) {
    const at = 8 + 8 * random.below(Math.max(1, Math.floor((lie.bytes.length - 8) / 8)))
    lie.bytes = concat(
      [lie.bytes.subarray(0, at), header(random.claim(random.below(20))), lie.bytes.subarray(at + 8)]
    ).slice(0, lie.bytes.length)
  },
  count (random, lie) {
    if (lie.bytes.length < 12) return
    lie.bytes = lie.bytes.slice()
    new DataView(lie.bytes.buffer).setUint32(8, random.pick([0, 1, 2, 3, 2 ** 31, 2 ** 32 - 1]), true)
  },
  foreign (random, lie, { blob, ranges }) {
    const other = siblingOf(blob)
    const bytes = createProofSync(
      other.bytes, createOutboardSync(other.bytes, { key: blob.key }), ranges, { key: blob.key }
    ).toBytes()
    const at = random.below(bytes.length + 1)
    lie.bytes = concat([lie.bytes.subarray(0, at), bytes.subarray(at)])
  },
  asked (random, lie, { blob }) {
    const boundaries = someBoundaries(random, blob.bytes.length)
    if (boundaries.length > 0) lie.asked = boundaries
  },
  /** Many ranges: as many as the bytes can hold. */
  ranges (random, lie) {
    const count = random.between(1, 2000)
    const step = random.pick([2, 3, 2 ** 20, 2 ** 30])
    const list = Array.from({ length: 2 * count }, (_, i) => header(step * i))
    lie.bytes = concat([
      header(random.pick([lie.size, 2 ** 53 - 1, 2 * count * step * 1024])),
      new Uint8Array(Uint32Array.of(count).buffer), ...list, lie.bytes.subarray(12)
    ])
  }
}

/** @param {Random} random */
async function run (random) {
  const blob = someBlob(random)
  const boundaries = someBoundaries(random, blob.bytes.length)
  if (boundaries.length === 0) return
  const ranges = ChunkRanges.fromBoundaries(boundaries)
  const proof = createProofSync(
    blob.bytes,
    createOutboardSync(blob.bytes, { key: blob.key, groupLog: random.below(6) }),
    ranges,
    { key: blob.key }
  )
  const lie = {
    size: blob.bytes.length,
    bytes: proof.toBytes(),
    content: concat(proof.byteRanges.map(({ start, end }) => blob.bytes.subarray(start, end))),
    root: blob.root,
    key: blob.key,
    asked: random.chance(0.5) ? boundaries : undefined
  }
  const told = []
  for (let count = random.pick([0, 1, 1, 1, 1, 2, 2]); count > 0; count--) {
    told.push(random.pick(Object.keys(LIES)))
    LIES[told.at(-1)](random, lie, { blob, ranges })
  }
  const what = `${blob.bytes.length} bytes, chunks [${boundaries}], ${told}`
  const asked = lie.asked && (size => selectedSpans(size, lie.asked))
  const due = judge(lie.bytes, lie.content, { root: lie.root, spans: asked, mode: modeOf({ key: lie.key }) })
  const options = {
    cid: lie.root, key: lie.key, ...lie.asked ? { ranges: ChunkRanges.fromBoundaries(lie.asked) } : {}
  }
  const got = []
  const error = await errorOf(() => withinBudget(
    lie.bytes.length + lie.content.length, () => got.push(verifyProof(lie.bytes, lie.content, options))
  ))
  if (due.code !== undefined) {
    expectThat(error?.code === due.code, () => `${what}: got ${error?.stack}, expected ${due.code}`)
    return
  }
  expectFault(error, undefined, what)
  const parsed = Proof.fromBytes(lie.bytes)
  expectThat(same(parsed.toBytes(), lie.bytes), () => `${what}: other bytes when written again`)
  expectThat(same(concat(got[0].map(({ bytes }) => bytes)), due.content), () => `${what}: other bytes came out`)
  if (!same(lie.root, blob.root) || lie.key !== blob.key) return
  for (const { offset, bytes } of got[0]) {
    expectThat(
      same(bytes, blob.bytes.subarray(offset, offset + bytes.length)),
      () => `${what}: wrong bytes at ${offset} were believed`
    )
  }
  expectThat(
    !parsed.provesSize || parsed.size === blob.bytes.length, () => `${what}: a size of ${parsed.size} was believed`
  )
}

export default [{ name: 'proofs', about: 'Proof.fromBytes and verifyProof, fed with proofs and bytes that lie', run }]
