// Encodings and slices that lie, to everything that verifies them.
import { ChunkRanges } from '../../../lib/index.js'
import { u8 } from '../../../lib/engine/arena.js'
import {
  SliceSource, SliceVerifier, decode, verifySlice, verifyStream, verifyTransform
} from '../../../verifier/index.js'
import { concat, header, same } from '../../support/bytes.js'
import { chosenRuns, collect, errorOf, joined, stream } from '../../support/feeding.js'
import { modeOf } from '../../support/twin/index.js'
import { withinBudget } from '../budget.js'
import { someCase } from '../cases.js'
import { expectFault, expectLeaves, expectThat, finding } from '../finding.js'
import { lieAbout, responseOf, truthOf } from '../mutations.js'
import { byteRangeOf, decodeBy, oneByOne, placesOf, selectedSpans, trimmed } from '../oracle.js'
import { inPieces } from '../random.js'

/** @import { Random } from '../random.js' */
/** @import { Case } from '../cases.js' */
/** @import { Lie } from '../mutations.js' */

const LARGEST = BigInt(Number.MAX_SAFE_INTEGER)

/**
 * What must come of a lie.
 *
 * @param {Case} truth @param {Lie} lie
 * @param {Uint8Array} bytes  what is sent
 * @param {boolean} hasHeader  does it begin with the size?
 */
export function dueFor ({ blob }, { root, size, groupLog, boundaries, key }, bytes, hasHeader) {
  if (hasHeader && bytes.length < 8) {
    return {
      leaves: [], pairs: [], isSizeProven: false, len: 0, fault: { code: 'BAO_TRUNCATED', wanted: 8, got: bytes.length }
    }
  }
  if (size > LARGEST) {
    return {
      leaves: [], pairs: [], isSizeProven: false, len: 0, fault: { code: 'BAO_SIZE_TOO_LARGE' }
    }
  }
  const response = hasHeader ? bytes.subarray(8) : bytes
  const known = key === blob.key ? placesOf(blob) : undefined
  const spans = selectedSpans(Number(size), boundaries)
  const due = decodeBy({
    root,
    size: Number(size),
    groupLog,
    spans,
    mode: key === blob.key ? blob.mode : modeOf({ key }),
    take: oneByOne(response),
    known
  })
  // The argument, beside the recomputation: under the true root only what is true comes out, and only
  // the true size is proven.
  if (same(root, blob.root) && key === blob.key) {
    if (due.isSizeProven && Number(size) !== blob.bytes.length) {
      finding(
      `the oracle itself believes in a size of ${size}`
      )
    }
    for (const { offset, bytes } of due.leaves) {
      if (!same(bytes, blob.bytes.subarray(offset, offset + bytes.length))) {
        finding(
        `the oracle itself believes in bytes at ${offset}`
        )
      }
    }
  }
  return { ...due, leaves: joined(due.leaves) }
}

/** A slice as it is sent, and what the receiver is told beside it. @param {Random} random @param {Lie} lie */
function sent (random, lie) {
  const hasHeader = lie.size > LARGEST || random.chance(0.7)
  const response = responseOf(lie)
  let bytes = hasHeader ? concat([header(lie.size), response]) : response
  // A header that is cut, or not there.
  if (hasHeader && random.chance(0.02)) bytes = bytes.slice(0, random.below(9))
  // Half of the slices that can be are asked for in bytes.
  const inBytes = bytes.length % 2 === 0 ? byteRangeOf(lie.boundaries, bytes.length) : undefined
  const options = {
    cid: lie.root,
    ranges: inBytes ?? ChunkRanges.fromBoundaries(lie.boundaries),
    groupLog: lie.groupLog,
    key: lie.key,
    ...hasHeader ? {} : { size: Number(lie.size) }
  }
  return { bytes, hasHeader, options, inBytes }
}

/** Feeds a verifier until it is done or throws; the memory of each piece is written over as soon as it was taken. */
function feedAndForget (random, verifier, bytes, { pieces = inPieces(random, bytes), reuse = false } = {}) {
  const isLent = random.chance(0.5)
  const leaves = []
  const give = more => {
    leaves.push(...reuse ? more.map(({ offset, bytes }) => ({ offset, bytes: bytes.slice() })) : more)
  }
  let error
  try {
    for (const piece of pieces) {
      const lent = isLent ? piece.slice() : piece
      give(verifier.write(lent))
      if (isLent) lent.fill(0xaa)
      if (random.chance(0.05)) give(verifier.flush())
    }
    give(verifier.flush())
    give(verifier.end())
  } catch (thrown) {
    error = thrown
  }
  return { leaves: joined(leaves), error }
}

const RELEASES = ['soon', 'leaf', 'window']

/** A way to keep leaves, and what it got if that is not what calls return. @param {Random} random */
function keeper (random, due) {
  const got = []
  return random.pick([
    () => ({ options: {} }),
    () => ({ options: { reuse: true } }),
    () => ({ options: { into: new Uint8Array(due.leaves.reduce((len, { bytes }) => len + bytes.length, 0)) } }),
    () => ({ options: { onLeaf: (offset, bytes) => { got.push({ offset, bytes: bytes.slice() }) } }, got })
  ])()
}

function expectEnded (verifier, error) {
  for (const again of [() => verifier.write(new Uint8Array(100)), () => verifier.flush(), () => verifier.end()]) {
    try {
      again()
    } catch (thrown) {
      if (thrown === error) continue
      finding(`after ${error.code}, ${thrown} was thrown`)
    }
    finding(`after ${error.code}, a call went through`)
  }
}

/**
 * @type {Record<string, (random: Random, bytes: Uint8Array, options: any, due: any, hasHeader: boolean,
 *   truth: Case) => unknown>}
 */
const RECEIVERS = {
  verifier (random, bytes, options, due, hasHeader) {
    const keep = keeper(random, due)
    const verifier = new SliceVerifier({ ...options, ...keep.options, release: random.pick(RELEASES) })
    const { leaves, error } = withinBudget(bytes.length, () => feedAndForget(random, verifier, bytes, keep.options))
    expectFault(error, due.fault)
    expectLeaves(joined(keep.got ?? leaves), due.leaves)
    expectThat(verifier.sizeProven === due.isSizeProven, () => `sizeProven is ${verifier.sizeProven}`)
    if (error) return expectEnded(verifier, error)
    expectThat(verifier.done, () => 'not done')
    expectThat(verifier.bytesRead === due.len + (hasHeader ? 8 : 0), () => `${verifier.bytesRead} bytes read`)
    expectThat(verifier.write(bytes).length === 0, () => 'something came out behind the end')
  },
  sink (random, bytes, options, due) {
    const leaves = []
    const pairs = []
    const takesPairs = random.chance(0.5)
    const verifier = new SliceVerifier(options, {
      leaf: (offset, memory, at, len) => leaves.push({ offset, bytes: memory.slice(at, at + len) }),
      ...takesPairs ? { pair: (node, at) => pairs.push({ offset: node, bytes: u8.slice(at, at + 64) }) } : {}
    })
    const { error } = feedAndForget(random, verifier, bytes)
    expectFault(error, due.fault)
    expectLeaves(joined(leaves), due.leaves)
    if (takesPairs) expectLeaves(pairs, due.pairs, 'pairs')
  },
  async atOnce (random, bytes, options, due) {
    const leaves = []
    const keep = keeper(random, due)
    const error = await errorOf(
      () => withinBudget(bytes.length, () => leaves.push(...verifySlice(bytes, { ...options, ...keep.options })))
    )
    expectFault(error, due.fault)
    if (!error || keep.got) expectLeaves(joined(keep.got ?? leaves), due.leaves)
  },
  /** Behind others in one stream. */
  async oneOfSeveral (random, bytes, options, due, hasHeader, { blob, groupLog, boundaries, items }) {
    const good = concat([header(blob.bytes.length), ...items.map(item => item.bytes)])
    const slices = new SliceSource(stream(inPieces(random, concat([good, Uint8Array.of(7, 8), bytes]))))
    const before = []
    for await (const leaf of verifyStream(
      slices, { cid: blob.root, groupLog, ranges: ChunkRanges.fromBoundaries(boundaries), key: blob.key }
    )) before.push(leaf)
    expectLeaves(joined(before), chosenRuns(blob.bytes, boundaries), 'leaves of the slice before')
    expectThat(same(await slices.read(2), Uint8Array.of(7, 8)), () => 'bytes between slices are others')
    const leaves = []
    const error = await errorOf(
      async () => { for await (const leaf of verifyStream(slices, options)) leaves.push(leaf) }
    )
    expectFault(error, due.fault)
    expectLeaves(joined(leaves), due.leaves)
    const rest = error ? new Uint8Array(0) : bytes.subarray(due.len + (hasHeader ? 8 : 0))
    expectThat(same(await collect(slices), rest), () => 'other bytes follow')
  },
  async stream (random, bytes, options, due) {
    const leaves = []
    const source = stream(inPieces(random, bytes))
    const error = await errorOf(
      async () => { for await (const leaf of verifyStream(source, options)) leaves.push(leaf) }
    )
    expectFault(error, due.fault)
    expectLeaves(joined(leaves), due.leaves)
  },
  async endless (random, bytes, options, due) {
    let given = 0
    const leaves = []
    const error = await errorOf(async () => {
      for await (
        const leaf of verifyStream(endlessly(random, bytes, len => { given += len }), options)
      ) leaves.push(leaf)
    })
    // What was too short goes on now; what was good ends where it ends.
    if (due.fault?.code !== 'BAO_TRUNCATED') {
      expectFault(error, due.fault)
      expectLeaves(joined(leaves), due.leaves)
    } else if (!error) {
      finding('noise was believed')
    }
    const most = 2 * bytes.length + (1 << 18) + (options.groupLog > 6 ? 2048 * 2 ** options.groupLog : 0)
    expectThat(given <= most, () => `${given} bytes were taken from an endless stream: there are ${bytes.length}`)
  },
  async transform (random, bytes, options, due) {
    const got = []
    const error = await errorOf(async () => {
      const readable = new Blob([bytes]).stream().pipeThrough(verifyTransform(options))
      for await (const piece of readable) got.push(piece)
    })
    const good = concat(due.leaves.map(leaf => leaf.bytes))
    const out = concat(got)
    expectFault(error, due.fault)
    expectThat(same(out, good), () => `${out.length} of ${good.length} bytes came out, or others`)
  }
}

/** The bytes, and then noise for ever. */
async function * endlessly (random, bytes, onTaken) {
  for (const piece of inPieces(random, bytes)) {
    onTaken(piece.length)
    yield piece
  }
  for (const piece = random.bytes(4096); ; onTaken(piece.length)) yield piece
}

const slices = {
  name: 'slices',
  about: 'SliceVerifier in every kind of pieces, verifySlice, verifyStream (endless, too), ' +
    'SliceSource, verifyTransform: fed with slices that lie',
  /** @param {Random} random */
  async run (random) {
    const truth = someCase(random)
    const lie = lieAbout(random, truth)
    const { bytes, hasHeader, options, inBytes } = sent(random, lie)
    const whole = dueFor(truth, lie, bytes, hasHeader)
    const exact = inBytes ? { ...whole, leaves: trimmed(whole.leaves, inBytes) } : whole
    const receiver = random.weighted(
      { verifier: 60, sink: 10, atOnce: 10, stream: 6, oneOfSeveral: 6, endless: 6, transform: 4 }
    )
    const due = receiver === 'sink' ? whole : exact
    try {
      await RECEIVERS[receiver](random, bytes, options, due, hasHeader, truth)
    } catch (error) {
      throw told(error, receiver, truth, lie)
    }
  }
}

const combined = {
  name: 'combined',
  about: 'decode, fed with combined encodings that lie',
  /** @param {Random} random */
  async run (random) {
    const truth = someCase(random, { whole: true })
    const lie = { ...lieAbout(random, truth), boundaries: [0] }
    const bytes = concat([header(lie.size), responseOf(lie)])
    const due = dueFor(truth, lie, bytes, true)
    const got = []
    const into = random.chance(0.3)
      ? random.bytes(
        due.leaves.reduce((len, { bytes }) => len + bytes.length, 0) + random.below(3)
      )
      : undefined
    const error = await errorOf(() => withinBudget(
      bytes.length,
      () => got.push(decode(bytes, lie.root, { groupLog: lie.groupLog, key: lie.key, ...into ? { into } : {} }))
    ))
    try {
      expectFault(error, due.fault)
      if (error === undefined) {
        expectThat(
          same(got[0], concat(due.leaves.map(leaf => leaf.bytes))), () => 'other bytes came out'
        )
      }
    } catch (error) {
      throw told(error, 'decode', truth, lie)
    }
  }
}

/** Places of one case that are changed. */
const MOST_SWEPT = 300

/** Small ones, changed at every place. */
const sweeps = {
  name: 'sweeps',
  about: 'small slices: every byte changed, and cut at every byte; each of them verified',
  /** @param {Random} random */
  run (random) {
    let truth = someCase(random, { which: 'small' })
    while (truth.items.reduce((sum, { bytes }) => sum + bytes.length, 0) > 3000) {
      truth = someCase(
        random, { which: 'small' }
      )
    }
    const good = concat([header(truth.blob.bytes.length), responseOf(truthOf(truth))])
    const options = {
      cid: truth.blob.root,
      ranges: ChunkRanges.fromBoundaries(truth.boundaries),
      groupLog: truth.groupLog,
      key: truth.blob.key
    }
    const isCut = random.chance(0.5)
    const xor = random.chance(0.5) ? 1 << random.below(8) : random.between(1, 255)
    // Small enough to be changed everywhere; of others a stretch, wherever it lies.
    const from = good.length <= MOST_SWEPT ? 0 : random.below(good.length - MOST_SWEPT)
    for (let at = from; at < Math.min(good.length, from + MOST_SWEPT); at++) {
      const bytes = isCut ? good.subarray(0, at) : good.slice()
      if (!isCut) bytes[at] ^= xor
      const size = bytes.length < 8 ? 0n : new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true)
      const lie = { ...truthOf(truth), size }
      const due = dueFor(truth, lie, bytes, true)
      const verifier = new SliceVerifier(options)
      const { leaves, error } = feedAndForget(random, verifier, bytes, random.chance(0.9) ? { pieces: [bytes] } : {})
      try {
        expectFault(error, due.fault)
        expectLeaves(leaves, due.leaves)
        expectThat(verifier.sizeProven === due.isSizeProven, () => `sizeProven is ${verifier.sizeProven}`)
        // As soon as its last byte has come.
        const prompt = new SliceVerifier({ ...options, release: 'leaf' })
        if (isCut) expectLeaves(joined(prompt.write(bytes)), due.leaves, 'leaves without a flush')
      } catch (error) {
        throw told(error, isCut ? `cut at ${at}` : `byte ${at} changed by ${xor}`, truth, lie)
      }
    }
  }
}

export default [slices, combined, sweeps]

/** A finding with the case that it was found in. */
export function told (error, how, truth, lie) {
  error.message += `\n  ${how}: ${truth.blob.bytes.length} bytes of seed ${truth.blob.seed}, ` +
    `groups of 2^${truth.groupLog}, chunks [${truth.boundaries}]` +
    `\n  ${lie.told.join(', ') || 'the truth'}: size ${lie.size}, groups of 2^${lie.groupLog}, ` +
    `chunks [${lie.boundaries}], ${responseOf(lie).length} bytes`
  return error
}
