// validRanges and validOutboardRanges over blobs and outboards that lie: the answer is exactly what
// recursion finds right.
import { ChunkRanges } from '../../../lib/index.js'
import { modeOf } from '../../../lib/hash/mode-options.js'
import { auditInSpans } from '../../../lib/parallel/audit.js'
import { pairsOf } from '../../../lib/outboard/paged-outboard.js'
import { openSource } from '../../../lib/source/source.js'
import { createOutboardSync } from '../../../encoder/index.js'
import { validOutboardRanges, validRanges } from '../../../verifier/index.js'
import { same } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { cvBytes, rootBytes } from '../../support/twin/index.js'
import { withinBudget } from '../budget.js'
import { someBoundaries } from '../cases.js'
import { expectThat } from '../finding.js'
import { leftLen } from '../../support/twin/blake3.js'
import { lastOf, placesOf, selectedSpans, toGroups, walkShape } from '../oracle.js'
import { isOfSource, unruly } from './readers.js'
import { holdings } from './senders.js'

/** @import { Random } from '../random.js' */

/**
 * The chunks that are right, by recursion: what is below a wrong pair is lost, a wrong leaf alone.
 *
 * @param {any} held @param {number[][]} spans  whole groups @param {boolean} looksAtBytes
 */
function rightOf ({ blob, size, groupLog, bytes, pairOf }, spans, looksAtBytes) {
  const { root, mode } = blob
  const known = placesOf(blob)
  const promised = new Map([[`0-${size}`, root]])
  const right = []
  walkShape({ size, groupLog, spans }, item => {
    const { kind, start, end } = item
    const isRoot = start === 0 && end === size
    const is = bytes => {
      const last = lastOf(kind, bytes, start, mode, known.get(`${start}-${end}`))
      return same(isRoot ? rootBytes(last) : cvBytes(last), promised.get(`${start}-${end}`))
    }
    if (kind === 'leaf') {
      const part = bytes.subarray(start, end)
      if (looksAtBytes && (part.length < end - start || !is(part))) return
      right.push([start / 1024, Math.ceil(end / 1024)])
      return
    }
    const pair = pairOf(item)
    if (pair.length < 64 || !is(pair)) return false
    const split = start + leftLen(end - start)
    promised.set(`${start}-${split}`, pair.subarray(0, 32))
    promised.set(`${split}-${end}`, pair.subarray(32))
  })
  return right.flat().filter((at, i, all) => all[i - 1] !== at && all[i + 1] !== at)
}

/** What is lost is walked through up to 128 MiB: two walks, and a few times on the way down. */
const BUDGET = { times: 3, steps: 1 << 21 }

/** @param {Random} random */
async function run (random) {
  const held = await holdings(random)
  const { blob, groupLog, bytes, outboard, paged, size } = held
  const boundaries = someBoundaries(random, blob.bytes.length)
  const ranges = ChunkRanges.fromBoundaries(boundaries)
  const spans = size === 0 ? [] : toGroups(selectedSpans(size, boundaries), size, groupLog)
  const what = `${blob.bytes.length} bytes, ${size} claimed, groups of 2^${groupLog}, chunks [${boundaries}]`
  // What was hashed before still stands in memory: code that takes it for what is missing now finds it right.
  if (random.chance(0.5)) {
    await validRanges(
      blob.bytes, createOutboardSync(blob.bytes, { groupLog, key: blob.key }), undefined, { key: blob.key }
    )
  }
  let asked = 0
  const counting = {
    root: outboard.root, size, groupLog, copyPair: (...args) => ++asked > 0 && outboard.copyPair(...args)
  }

  const pairs = await withinBudget(
    held.len, () => validOutboardRanges(random.chance(0.5) ? paged : counting, ranges, { key: blob.key }), BUDGET
  )
  const due = rightOf(held, spans, false)
  expectThat(
    `${pairs.boundaries}` === `${due}`, () => `${what}: pairs of [${pairs.boundaries}] are right, must be [${due}]`
  )

  const { manner, source } = unruly(random, bytes)
  const got = []
  const error = await errorOf(async () => {
    got.push(await withinBudget(
      held.len, () => validRanges(source, random.chance(0.5) ? paged : counting, ranges, { key: blob.key }), BUDGET
    ))
  })
  if (error) return expectThat(isOfSource(error), () => `${what}, ${manner}: ${error.stack}`)
  const valid = rightOf(held, spans, true)
  if (manner === 'bytes' || manner === 'rules') {
    expectThat(
      `${got[0].boundaries}` === `${valid}`,
      () => `${what}, ${manner}: [${got[0].boundaries}] is right, must be [${valid}]`
    )
  } else {
    // A source that changes may show less than it has, or, after a bad moment, what it has.
    expectThat(
      got[0].difference(new ChunkRanges(valid)).isEmpty || manner === 'changes',
      () => `${what}, ${manner}: [${got[0].boundaries}] is right, at most [${valid}] can be`
    )
  }
  expectThat(asked < 100_000, () => `${what}: ${asked} pairs were asked for`)
}

/** The quick part, on several threads: nothing is right there that is not right by recursion. @param {Random} random */
async function onThreads (random) {
  const held = await holdings(random)
  const { blob, groupLog, bytes, paged, size } = held
  const spanLen = 1024 * 2 ** Math.max(groupLog + 1, random.between(4, 6))
  if (size === 0 || bytes.length < 2 * spanLen) return
  const spans = toGroups(
    selectedSpans(size, random.chance(0.5) ? [0] : someBoundaries(random, blob.bytes.length)), size, groupLog
  )
  const ranges = new ChunkRanges(spans.flat())
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length))
  shared.set(bytes)
  const opened = await openSource(shared)
  const what = { root: blob.root, size, groupLog, ranges, mode: modeOf({ key: blob.key }) }
  const got = await auditInSpans(opened, what, pairsOf(paged), { threads: 2, spanLen })
  await opened.close()
  const due = new ChunkRanges(rightOf(held, spans, true))
  expectThat(
    got.difference(due).isEmpty,
    () => `${blob.bytes.length} bytes, ${size} claimed, groups of 2^${groupLog}, spans of ${spanLen}: ` +
      `[${got.boundaries}] is right, must be [${due.boundaries}]`
  )
  // Where all is right, all whole spans are found; unless there is one only, which is not worth a thread.
  if (size !== blob.bytes.length || !due.equals(ranges)) return
  const whole = Array.from(
    { length: Math.floor(size / spanLen) }, (_, i) => [i * spanLen / 1024, (i + 1) * spanLen / 1024]
  ).filter(([start, end]) => ranges.contains(start, end))
  for (const [start, end] of whole.length > 1 ? whole : []) {
    expectThat(
      got.contains(start, end),
      () => `spans of ${spanLen}: ${start} to ${end} is right, [${got.boundaries}] was found`
    )
  }
}

export default [
  { name: 'threads', about: 'the part of validRanges that is done on several threads, over the same', run: onThreads },
  { name: 'audits', about: 'validRanges and validOutboardRanges over blobs, outboards and sources that lie', run }
]
