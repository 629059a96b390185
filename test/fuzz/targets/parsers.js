// What parses something that was sent: outboards, names, ranges. Each either means what it says, or is
// refused with a code or a slip.
import { CID } from 'multiformats/cid'
import { base36 } from 'multiformats/bases/base36'
import { base58btc } from 'multiformats/bases/base58'
import { ChunkRanges, fromCid, toCid } from '../../../lib/index.js'
import { parseRoot } from '../../../lib/hash/cid.js'
import { toRanges } from '../../../lib/tree/ranges.js'
import { Outboard, createOutboard, createOutboardSync } from '../../../encoder/index.js'
import { concat, header, hex, same, unhex } from '../../support/bytes.js'
import { errorOf, stream } from '../../support/feeding.js'
import { Bao, Tree } from '../../support/twin/index.js'
import { withinBudget } from '../budget.js'
import { someBlob, someBoundaries, someGroupLog } from '../cases.js'
import { expectCode, expectThat } from '../finding.js'
import { oneFlipped } from '../mutations.js'
import { inPieces } from '../random.js'

/** @import { Random } from '../random.js' */

const isSlip = error => error instanceof TypeError || error instanceof RangeError

/** @param {Random} random */
async function outboards (random) {
  const blob = someBlob(random)
  const groupLog = random.chance(0.5) ? 0 : someGroupLog(random)
  const { length: size } = blob.bytes
  const [pre, post] = [Bao.preOrder(blob.tree, groupLog), Bao.postOrder(blob.tree, groupLog)]
  const what = `${size} bytes, groups of 2^${groupLog}`

  const order = random.pick(['pre', 'post'])
  const grown = random.chance(0.5)
    ? createOutboardSync(blob.bytes, { groupLog, order, key: blob.key })
    : await createOutboard(stream(inPieces(random, blob.bytes)), { groupLog, order, key: blob.key })
  expectThat(
    same(grown.root, blob.root) && same(grown.bytes, order === 'pre' ? pre : post),
    () => `${what}: another outboard was grown`
  )
  expectThat(
    same(grown.flip().bytes, order === 'pre' ? post : pre) && same(grown.flip().flip().bytes, grown.bytes),
    () => `${what}: flipped wrongly`
  )

  // Every pair by its number, and numbers that have none.
  const pairs = new Map(Tree.steps(size, groupLog).filter(step => step.kind === 'enter').map(
    step => [step.node, pre.subarray(step.pre * 64, step.pre * 64 + 64)]
  ))
  for (const node of [...pairs.keys(), random.below(2 * Math.ceil(size / 1024) + 2), Number.MAX_SAFE_INTEGER]) {
    const [got, due] = [grown.pair(node), pairs.get(node)]
    expectThat(
      due === undefined ? got === undefined : got !== undefined && same(got, due),
      () => `${what}: pair ${node} is another`
    )
  }

  // From parts that do not fit each other, and from a file that lies.
  const claim = random.chance(0.3) ? BigInt(size) : random.claim(size)
  const len = groups => 64 * (groups - 1)
  const bytes = random.chance(0.5) ? pre : pre.slice(0, random.below(pre.length + 1))
  const due = claim < 2n ** 53n ? len(Math.max(1, Math.ceil(Number(claim) / (1024 * 2 ** groupLog)))) : -1
  const error = await errorOf(() => Outboard.from({ cid: blob.root, size: Number(claim), groupLog, bytes }))
  expectThat(
    due === bytes.length ? error === undefined : isSlip(error),
    () => `${what}, ${claim} claimed, ${bytes.length} bytes: ${error?.stack}`
  )

  const file = concat([header(claim), bytes, random.bytes(random.pick([0, 0, 1, 64]))])
  const cut = random.chance(0.1) ? file.slice(0, random.below(10)) : file
  const parsed = []
  const fault = await errorOf(() => withinBudget(cut.length, () => parsed.push(Outboard.fromBao(cut, blob.root))))
  const wanted = claim < 2n ** 53n ? len(Math.max(1, Math.ceil(Number(claim) / 1024))) : -1
  if (cut.length < 8) return expectCode(fault, ['BAO_BAD_HEADER'], what)
  if (cut.length < file.length && cut.length < 8) return
  if (wanted < 0) return expectCode(fault, ['BAO_SIZE_TOO_LARGE'], what)
  if (cut.length - 8 < wanted) return expectCode(fault, ['BAO_TRUNCATED'], what)
  expectThat(
    fault === undefined && parsed[0].bytes.length === wanted && parsed[0].size === Number(claim),
    () => `${what}: ${fault?.stack}`
  )
}

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

/**
 * The bytes that a base32 string stands for, in letters of either case, padded or not; undefined when
 * it is none, or has more letters than it needs.
 */
function fromBase32 (text) {
  const out = []
  let [bits, value] = [0, 0]
  for (const letter of text.replace(/=+$/, '')) {
    const index = BASE32.indexOf(/[A-Z]/.test(letter) ? letter.toLowerCase() : letter)
    if (index < 0) return undefined
    value = (value << 5 | index) & 0xfff
    bits += 5
    if (bits >= 8) {
      bits -= 8
      out.push(value >> bits & 0xff)
    }
  }
  if (bits >= 5 || (value & ((1 << bits) - 1)) !== 0) return undefined
  return Uint8Array.from(out)
}

/** A varint, and what follows it; undefined when it is longer than it need be. */
function varint (bytes) {
  let value = 0n
  for (let i = 0; i < Math.min(bytes.length, 9); i++) {
    value |= BigInt(bytes[i] & 0x7f) << BigInt(7 * i)
    if (bytes[i] < 0x80) return [i > 0 && bytes[i] === 0 ? undefined : value, bytes.subarray(i + 1)]
  }
  return [undefined, bytes]
}

/** The hash in the bytes of a version 1 CID; undefined unless it is one of BLAKE3, to its last byte. */
function hashIn (bytes) {
  const [version, behind] = varint(bytes)
  const [codec, hash] = varint(behind)
  const [code, sized] = varint(hash)
  const [len, digest] = varint(sized)
  const isHash = code === 0x1en && len === 32n && digest.length === 32
  return version === 1n && codec !== undefined && isHash ? digest : undefined
}

/** @param {Random} random */
async function names (random) {
  const root = random.bytes(32)
  const codec = random.pick([0x55, 0x80, 0x70, 0, 127, 128, 2 ** 31])
  const cid = toCid(root, codec)
  expectThat(same(fromCid(cid), root) && same(
    parseRoot(cid.toString()), root
  ) && same(parseRoot(cid.bytes), root) && same(parseRoot(hex(root)), root), () => `${cid} is not its own name`)
  expectThat(
    same(hashIn(cid.bytes), root) && same(hashIn(fromBase32(cid.toString().slice(1))), root),
    () => `${cid} is not written as the rules say`
  )

  const form = random.pick(['bytes', 'text', 'hex', 'other', 'base58', 'base36'])
  const change = bytes => random.pick([
    () => oneFlipped(random, bytes),
    () => bytes.slice(0, random.below(bytes.length + 1)),
    () => concat([bytes, random.bytes(random.between(1, 40))]),
    () => random.bytes(random.below(80)),
    () => concat([random.bytes(random.between(1, 4)), bytes]),
    () => concat([bytes.subarray(0, random.below(6)), Uint8Array.of(0x80), bytes.subarray(random.below(6))])
  ])()
  const asText = text => {
    const bytes = change(new TextEncoder().encode(text))
    if (random.chance(0.5)) return new TextDecoder('latin1').decode(bytes)
    const ends = ['', '=', ' ', '\0', '0', 'A', '1', 'é', '\ud800', text.repeat(50)]
    return text.slice(0, random.below(text.length)) + random.pick([...ends, '2'.repeat(1 << random.below(20))])
  }
  const name = {
    bytes: () => change(cid.bytes),
    text: () => asText(cid.toString()),
    hex: () => asText(hex(root)),
    base58: () => asText(cid.toString(base58btc)),
    base36: () => asText(cid.toString(base36)),
    other: () => random.pick([
      undefined, null, 5, {}, [], { code: 5, '/': root }, { asCID: 1 }, new Uint8Array(0), '',
      new ArrayBuffer(32),
      CID.createV0({ code: 0x12, digest: root, size: 32, bytes: concat([Uint8Array.of(0x12, 32), root]) })
    ])
  }[form]()
  const got = []
  const error = await errorOf(() => withinBudget(name?.length ?? 0, () => got.push(parseRoot(name))))
  const text = name instanceof Uint8Array ? hex(name) : String(name)
  const what = typeof name === 'string' ? JSON.stringify(name).slice(0, 200) : text
  if (error) {
    if (error instanceof TypeError) {
      expectThat(
        !(name instanceof Uint8Array) && typeof name !== 'string', () => `${what}: ${error.stack}`
      )
    } else expectCode(error, ['CID_UNSUPPORTED'], what)
    expectThat(error.message.length < 300, () => `a message of ${error.message.length} characters`)
  }
  const due = hashNamed(name)
  if (due !== undefined) {
    expectThat(
      got.length > 0 && same(got[0], due), () => `${what}: a good name was refused, or means another hash`
    )
  } else if (got.length > 0) {
    // In bases that are not looked at here, a name may still be good; then it is the name of what it says.
    expectThat(
      typeof name === 'string' && /^[zk]/.test(name) && same(CID.parse(name).multihash.digest, got[0]),
      () => `${what}: believed`
    )
  }
}

/** What a name must mean. @param {unknown} name */
function hashNamed (name) {
  if (name instanceof Uint8Array) return name.length === 32 ? name : hashIn(name)
  if (typeof name !== 'string') return undefined
  if (/^[0-9a-fA-F]{64}$/.test(name)) return unhex(name.toLowerCase())
  const bytes = name[0] === 'b' ? fromBase32(name.slice(1)) : undefined
  return bytes && hashIn(bytes)
}

/** @param {Random} random */
async function ranges (random) {
  const size = random.pick([0, 1, 1024, 1025, 5000, 20_000, 40_961, 70_000])
  const chunks = Tree.chunkCount(size)
  const list = () => ChunkRanges.fromBoundaries(someBoundaries(random, size))
  const [a, b] = [list(), list()]
  const what = `[${a.boundaries}] and [${b.boundaries}] of ${size} bytes`
  const setOf = ({ boundaries }) => Array.from(
    { length: chunks + 5 }, (_, chunk) => boundaries.filter(boundary => boundary <= chunk).length % 2 === 1
  )
  const expectSet = (got, due, how) => {
    expectThat(
      got.boundaries.every((boundary, i) => Number.isSafeInteger(boundary) && boundary > (got.boundaries[i - 1] ?? -1)),
      () => `${what}, ${how}: boundaries [${got.boundaries}]`
    )
    expectThat(`${setOf(got)}` === `${due}`, () => `${what}, ${how}: [${got.boundaries}]`)
  }
  const [inA, inB] = [setOf(a), setOf(b)]
  expectSet(a.union(b), inA.map((is, i) => is || inB[i]), 'union')
  expectSet(a.intersect(b), inA.map((is, i) => is && inB[i]), 'intersection')
  expectSet(a.difference(b), inA.map((is, i) => is && !inB[i]), 'difference')
  const selected = Tree.selected(size, a.boundaries)
  expectSet(a.canonical(size), inA.map((_, chunk) => selected.has(chunk)), 'canonical')
  const bytes = a.toBytes(size).flatMap(({ start, end }) => [start, end])
  expectThat(
    [...selected].every(chunk => size === 0 || bytes.filter(at => at <= chunk * 1024).length % 2 === 1),
    () => `${what}: bytes [${bytes}]`
  )
  const groupLog = random.below(5)
  const inGroup = chunk => inA.some(
    (is, other) => is && other >> groupLog === chunk >> groupLog
  ) || a.boundaries.some((start, i) => i % 2 === 0 && start >> groupLog === chunk >> groupLog)
  const rounded = a.roundToGroups(groupLog)
  for (let chunk = 0; chunk < chunks; chunk++) {
    expectThat(
      rounded.has(chunk) === inGroup(chunk),
      () => `${what}, groups of 2^${groupLog}: [${rounded.boundaries}] at ${chunk}`
    )
  }
  const [from, to] = [random.below(chunks + 5), random.below(chunks + 5)].sort((x, y) => x - y)
  expectThat(
    a.intersects(from, to) === inA.slice(from, to).includes(true), () => `${what}: intersects ${from} to ${to}`
  )
  expectThat(a.contains(from, to) === !inA.slice(from, to).includes(false), () => `${what}: contains ${from} to ${to}`)

  // What is no list of boundaries, or no range.
  const item = () => random.pick([
    () => random.below(10), () => BigInt(random.below(10)), () => random.claim(5000), () => -1, () => -1n,
    () => 1.5, () => NaN, () => Infinity, () => '3', () => null, () => undefined, () => ({}), () => 2n ** 64n
  ])()
  const raw = Array.from({ length: random.below(6) }, item)
  const isGood = raw.every((boundary, i) => (
    typeof boundary === 'bigint' || Number.isInteger(boundary)
  ) && boundary >= 0 && (i === 0 || BigInt(boundary) > BigInt(raw[i - 1])))
  const error = await errorOf(() => ChunkRanges.fromBoundaries(raw))
  expectThat(isGood ? error === undefined : isSlip(error), () => `boundaries [${raw.map(String)}]: ${error?.stack}`)
  const [start, end] = [item(), item()]
  const got = []
  const slip = await errorOf(() => got.push(toRanges({ start, end })))
  const isInteger = number => Number.isSafeInteger(number) && number >= 0
  const isRange = (start === undefined || isInteger(start)) && (
    end === undefined || end === Infinity || isInteger(end)
  ) && (start ?? 0) <= (end ?? Infinity)
  expectThat(isRange ? slip === undefined : isSlip(slip), () => `${String(start)} to ${String(end)}: ${slip?.stack}`)
}

export default [
  {
    name: 'outboards',
    about: 'Outboard.from and fromBao, fed with parts and files that lie; outboards grown, flipped and ' +
      'looked up, beside the twin',
    run: outboards
  },
  { name: 'names', about: 'parseRoot and fromCid, fed with CIDs and digits that are not quite', run: names },
  {
    name: 'ranges',
    about: 'ChunkRanges beside sets of chunks, and fed with what is no list of boundaries',
    run: ranges
  }
]
