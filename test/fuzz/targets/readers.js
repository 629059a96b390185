// VerifiedReader over sources that lie: combined encodings, and blobs with outboards. Both are random
// access, so they may also give too little, too much, or something else each time.
import { Outboard, openEncoding, openOutboard } from '../../../encoder/index.js'
import { VerifiedReader } from '../../../verifier/index.js'
import { concat, header, same } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { Bao } from '../../support/twin/index.js'
import { withinBudget } from '../budget.js'
import { siblingOf, someBlob, someGroupLog } from '../cases.js'
import { expectFault, expectThat } from '../finding.js'
import { oneFlipped } from '../mutations.js'
import { decodeBy, placesOf, selectedSpans, toGroups } from '../oracle.js'

/** @import { Random } from '../random.js' */

/**
 * Some bytes, spoilt or not.
 *
 * @param {Random} random @param {Uint8Array} bytes
 * @param {Uint8Array} foreign  of the same length
 */
export function spoilt (random, bytes, foreign) {
  return {
    none: () => bytes,
    flip: () => oneFlipped(random, bytes),
    twice: () => oneFlipped(random, oneFlipped(random, bytes)),
    cut: () => bytes.slice(0, random.below(bytes.length + 1)),
    grown: () => concat([bytes, random.bytes(random.between(1, 3000))]),
    splice () {
      const at = random.below(bytes.length + 1)
      return concat([bytes.subarray(0, at), foreign.subarray(at)])
    }
  }[random.weighted({ none: 3, flip: 6, twice: 2, cut: 3, grown: 1, splice: 2 })]()
}

/** Bytes as a source that does not keep to the rules. @param {Random} random @param {Uint8Array} bytes */
export function unruly (random, bytes) {
  const manner = random.weighted({ bytes: 10, rules: 4, size: 2, short: 2, long: 1, fails: 1, changes: 3 })
  let reads = 0
  const at = random.below(6)
  const read = (start, end) => {
    const isNow = reads++ === at
    const part = bytes.subarray(start, end)
    if (manner === 'short' && isNow) return part.subarray(0, random.below(part.length + 1))
    if (manner === 'long' && isNow) return concat([part, new Uint8Array(end - start - part.length + 1)])
    if (manner === 'fails' && isNow) throw new Error('the disk is gone')
    if (manner === 'changes' && isNow && part.length > 0) return oneFlipped(random, part)
    return random.chance(0.5) ? part : Promise.resolve(part.slice())
  }
  const size = manner === 'size' ? Number(random.claim(bytes.length) & (2n ** 53n - 1n)) : bytes.length
  return { manner, source: manner === 'bytes' ? bytes : { size, read } }
}

/** What a reader must give from an origin whose parts are fixed. */
function dueOf ({ blob, size, groupLog, spans, take }) {
  return decodeBy({ root: blob.root, size, groupLog, spans, mode: blob.mode, take, known: placesOf(blob) })
}

const CODES = ['BAO_PARENT_MISMATCH', 'BAO_LEAF_MISMATCH', 'BAO_TRUNCATED', 'BAO_SIZE_TOO_LARGE', 'BAO_BAD_HEADER']

/** What is told when a source does not keep to the rules. */
export const isOfSource = ({ message, name, code }) => message === 'the disk is gone' || (
  name === 'RangeError' && /source.read/.test(message)
) || CODES.includes(code)

/** @param {Random} random */
function combinedOrigin (random) {
  const blob = someBlob(random)
  const groupLog = someGroupLog(random)
  const claimed = random.chance(0.3) ? random.claim(blob.bytes.length) : BigInt(blob.bytes.length)
  const good = Bao.response(blob.tree, groupLog, [0])
  const encoded = concat([header(claimed), spoilt(random, good, Bao.response(siblingOf(blob).tree, groupLog, [0]))])
  const sent = random.chance(0.05) ? encoded.slice(0, random.below(encoded.length + 1)) : encoded
  const { manner, source } = unruly(random, sent)
  const claim = sent.length < 8 ? undefined : new DataView(sent.buffer, sent.byteOffset).getBigUint64(0, true)
  const isTakenApart = random.chance(0.3)
  return {
    blob,
    groupLog,
    manner,
    claim,
    len: sent.length,
    open: async () => {
      if (!isTakenApart) return new VerifiedReader({ cid: blob.root, encoded: source, groupLog, key: blob.key })
      const opened = await openEncoding(source, { cid: blob.root, groupLog })
      return new VerifiedReader({ cid: blob.root, source: opened.source, outboard: opened.outboard, key: blob.key })
    },
    take (count, { kind, start, pre }) {
      const part = sent.subarray(8 + 64 * pre + start, 8 + 64 * pre + start + count)
      // An outboard has a pair, or it has not.
      return isTakenApart && kind === 'parent' && part.length < count ? part.subarray(0, 0) : part
    }
  }
}

/** @param {Random} random */
async function outboardOrigin (random) {
  const blob = someBlob(random)
  const groupLog = someGroupLog(random)
  const order = random.pick(['pre', 'post'])
  const pairsOf = tree => (order === 'pre' ? Bao.preOrder : Bao.postOrder)(tree, groupLog)
  const goodPairs = pairsOf(blob.tree)
  const spoiltPairs = spoilt(random, goodPairs, pairsOf(siblingOf(blob).tree))
  const bytes = spoilt(random, blob.bytes, siblingOf(blob).bytes)
  const isLiar = random.chance(0.3)
  const size = isLiar ? Number(random.claim(blob.bytes.length) & (2n ** 53n - 1n)) : blob.bytes.length
  const pairs = spoiltPairs.length === goodPairs.length || isLiar ? spoiltPairs : goodPairs
  const missing = random.chance(0.1) ? random.below(8) : -1
  const placeOf = step => order === 'pre' ? step.pre : step.post
  const { manner, source } = unruly(random, bytes)
  const outboard = !isLiar && missing < 0 && random.chance(0.7)
    ? Outboard.from({ cid: blob.root, size, groupLog, order, bytes: pairs })
    : {
        root: blob.root,
        size,
        groupLog,
        copyPair (step, out, at) {
          const from = placeOf(step) * 64
          if (placeOf(step) === missing || from + 64 > pairs.length) return false
          out.set(pairs.subarray(from, from + 64), at)
          return true
        },
        ...random.chance(0.5) ? { prepare: async () => {} } : {}
      }
  const reads = random.chance(0.4) && missing < 0
    ? await openOutboard(
      pairs, { cid: blob.root, size, groupLog, order }
    )
    : outboard
  const hasPair = outboard instanceof Outboard
    ? () => true
    : item => placeOf(item) !== missing && placeOf(item) * 64 + 64 <= pairs.length
  return {
    blob,
    groupLog,
    manner,
    claim: BigInt(size),
    len: bytes.length + pairs.length,
    open: async () => new VerifiedReader({ cid: blob.root, source, outboard: reads, key: blob.key }),
    take: (count, item) => item.kind === 'leaf'
      ? bytes.subarray(item.start, item.end)
      : hasPair(item) ? pairs.subarray(placeOf(item) * 64, placeOf(item) * 64 + 64) : new Uint8Array(0)
  }
}

/** @param {Random} random */
async function run (random) {
  const origin = random.chance(0.5) ? combinedOrigin(random) : await outboardOrigin(random)
  const { blob, groupLog, manner, claim } = origin
  const { length } = blob.bytes
  const isFixed = manner === 'bytes' || manner === 'rules'
  const opened = []
  const refusal = await errorOf(async () => { opened.push(await origin.open()) })
  if (refusal) {
    if (isFixed) {
      expectThat(
        claim === undefined
          ? refusal.code === 'BAO_BAD_HEADER'
          : claim >= 2n ** 53n && refusal.code === 'BAO_SIZE_TOO_LARGE',
        () => `${claim} claimed: ${refusal.stack}`
      )
    } else expectThat(isOfSource(refusal), () => refusal.stack)
    return
  }
  const [reader] = opened
  for (let reads = random.between(1, 3); reads > 0; reads--) {
    const start = random.chance(0.3) ? 0 : random.below(length + 3000)
    const end = random.chance(0.3)
      ? Infinity
      : random.chance(0.05)
        ? Number.MAX_SAFE_INTEGER
        : start + random.below(
          1 << random.between(1, 17)
        )
    const got = []
    const error = await errorOf(() => withinBudget(origin.len, async () => {
      if (random.chance(0.3)) got.push(await reader.read({ start, end }))
      else for await (const piece of reader.stream({ start, end })) got.push(piece)
    }))
    const out = concat(got)
    const what = `${start} to ${end} of ${length} bytes, groups of 2^${groupLog}, ${claim} claimed, ${manner}`
    // Whatever the source did, only what is true comes out, from the start on.
    expectThat(
      same(out, blob.bytes.subarray(start, end).subarray(0, out.length)), () => `${what}: wrong bytes came out`
    )
    if (error === undefined) {
      expectThat(
        out.length === blob.bytes.subarray(start, end).length,
        () => `${what}: ${out.length} bytes came out, and no error`
      )
    } else expectThat(isOfSource(error), () => `${what}: ${error.stack}`)
    if (end <= start || !isFixed) continue
    const due = expected(origin, start, end)
    expectFault(error, sizeFault(origin) ?? due.fault, what)
    if (error !== undefined && got.length > 0) {
      const before = concat(
        due.leaves.map(({ offset, bytes }) => bytes.subarray(Math.max(0, start - offset), Math.max(0, end - offset)))
      )
      expectThat(
        out.length === before.length,
        () => `${what}: ${out.length} bytes came out before ${error.code}, not ${before.length}`
      )
    }
  }
  const told = []
  const error = await errorOf(async () => { told.push(await reader.size()) })
  if (told.length > 0) expectThat(told[0] === length, () => `a size of ${told[0]} was told, it is ${length}`)
  else expectThat(isOfSource(error), () => `size: ${error.stack}`)
  await errorOf(reader.close())
}

/** What the header alone says. */
function sizeFault ({ claim, len }) {
  if (claim === undefined) return { code: 'BAO_TRUNCATED', wanted: 8, got: len }
  if (claim > BigInt(Number.MAX_SAFE_INTEGER)) return { code: 'BAO_SIZE_TOO_LARGE' }
}

function expected (origin, start, end) {
  if (sizeFault(origin)) return { leaves: [] }
  const size = Number(origin.claim)
  const first = Math.floor(start / 1024)
  const boundaries = end === Infinity ? [first] : [first, Math.ceil(end / 1024)]
  return dueOf({ ...origin, size, spans: toGroups(selectedSpans(size, boundaries), size, origin.groupLog) })
}

export default [{
  name: 'readers',
  about: 'VerifiedReader, fed with combined encodings, blobs and outboards that lie, and sources that ' +
    'give too little, too much, or something else each time',
  run
}]
