// Meta blobs of collections that are not quite: each means what a slow reader of its own says, or is refused. Manifests
// that are not quite: each is refused, or has but one form.
import { MetaParser } from '../../../exchange/collections/meta.js'
import { SafeNames } from '../../../exchange/collections/safe-names.js'
import { Collection, Manifest } from '../../../exchange/collections/index.js'
import { hash } from '../../../lib/index.js'
import { concat, same } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { withinBudget } from '../budget.js'
import { expectCode, expectThat } from '../finding.js'
import { inPieces } from '../random.js'

/** @import { Random } from '../random.js' */

const HEAD = new TextEncoder().encode('CollectionV0.')
const PARTS = [
  'a', 'B', '/', '..', '.', '', '\0', '\u00e9', 'e\u0301', '\u{1f600}', '\ufeff', '\\', 'nul', 'x'.repeat(130)
]
/** Bytes of a name, at most. */
const MOST = 65_536n

/** A number in base 128, as postcard writes it, or with bytes that it does not need. @param {bigint} value */
function leb (value, more = 0) {
  const out = []
  for (; value > 127n; value >>= 7n) out.push(Number(value & 127n) | 128)
  out.push(Number(value))
  for (let i = 0; i < more; i++) {
    out[out.length - 1] |= 128
    out.push(0)
  }
  return Uint8Array.from(out)
}

/**
 * The names in a meta blob, read without any haste.
 *
 * @param {Uint8Array} bytes @param {number} count
 * @returns {string[] | undefined} undefined when it must be refused
 */
function namesIn (bytes, count) {
  let rest = [...bytes]
  const take = len => {
    const taken = rest.slice(0, len)
    rest = rest.slice(len)
    return taken.length === len ? taken : undefined
  }
  const number = () => {
    const end = rest.findIndex(byte => byte < 128)
    if (end < 0) return undefined
    const digits = take(end + 1)
    if (end > 0 && digits[end] === 0) return undefined
    return digits.reduceRight((value, digit) => value << 7n | BigInt(digit & 127), 0n)
  }
  const head = take(HEAD.length)
  if (head === undefined || head.some((byte, i) => byte !== HEAD[i])) return undefined
  if (number() !== BigInt(count)) return undefined
  const names = []
  for (let i = 0; i < count; i++) {
    const len = number()
    const text = len === undefined || len > MOST ? undefined : take(Number(len))
    if (text === undefined) return undefined
    try {
      names.push(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(text)))
    } catch {
      return undefined
    }
  }
  return rest.length === 0 ? names : undefined
}

/** @param {Random} random */
async function collections (random) {
  const names = Array.from({ length: random.below(6) }, () =>
    Array.from({ length: random.below(4) }, () => random.pick(PARTS)).join(''))
  const longer = () => random.chance(0.03) ? random.between(1, 12) : 0
  const claimed = near => random.chance(0.05) ? random.claim(near) : BigInt(near)
  const good = concat([HEAD, leb(claimed(names.length), longer()), ...names.flatMap(name => {
    const text = new TextEncoder().encode(name)
    return [leb(claimed(text.length), longer()), text]
  })])
  const at = random.below(good.length + 1)
  const meta = {
    none: () => good,
    flip: () => good.map((byte, i) => i === at ? byte ^ 1 << random.below(8) : byte),
    cut: () => good.slice(0, at),
    more: () => concat([good.slice(0, at), random.bytes(random.between(1, 3)), good.slice(at)])
  }[random.weighted({ none: 4, flip: 4, cut: 2, more: 2 })]()
  const count = random.chance(0.9) ? names.length : random.below(8)
  const due = namesIn(meta, count)
  const what = `${count} members, meta blob ${[...meta].join(' ')}`

  const got = []
  const fault = await errorOf(() => withinBudget(meta.length, () => {
    const parser = new MetaParser(count)
    for (const piece of inPieces(random, meta)) for (const batch of parser.push(piece)) got.push(...batch)
    parser.end()
  }))
  if (due === undefined) expectCode(fault, ['COLLECTION_INVALID'], what)
  else expectThat(fault === undefined && `${got}` === `${due}`, () => `${what}: ${fault?.stack ?? got}`)

  const sequence = concat([hash(meta), random.bytes(32 * count)])
  const read = []
  const error = await errorOf(() => read.push(Collection.fromBytes({ sequence, meta })))
  if (due === undefined) return expectCode(error, ['COLLECTION_INVALID'], what)
  const blobs = read[0]?.toBytes()
  expectThat(blobs && same(blobs.meta, meta) && same(blobs.sequence, sequence), () => `${what}: ${error?.stack}`)

  // No name that is taken for a path leads anywhere but down.
  const safe = new SafeNames({ isForWindows: random.chance(0.5) })
  for (const name of due) {
    const refusal = await errorOf(() => safe.add(name))
    if (refusal !== undefined) return expectCode(refusal, ['PATH_UNSAFE'], what)
    const parts = name.replaceAll('\ufeff', '').split('/')
    const leads = /[\\\0]/.test(name) || parts.some(part => ['', '.', '..'].includes(part))
    expectThat(!leads, () => `${what}: path ${name}`)
  }
}

/** @param {Random} random */
async function manifests (random) {
  const path = () => '/' + Array.from({ length: random.below(4) }, () => random.pick(PARTS)).join('')
  const resources = Array.from({ length: random.below(5) }, () => {
    const type = random.chance(0.5) ? { 'content-type': random.pick(['text/html', 'a/b; c=d']) } : {}
    return [path(), { src: random.bytes(32), ...type }]
  })
  const fields = random.chance(0.3) ? { name: path(), version: 1 } : {}
  const isSingle = resources.length > 0 && random.chance(0.2)
  const good = (isSingle ? Manifest.single(resources[0][1], fields) : Manifest.from(resources, fields)).toBytes()
  const at = random.below(good.length)
  const bytes = {
    none: () => good,
    flip: () => good.map((byte, i) => i === at ? byte ^ 1 << random.below(8) : byte),
    cut: () => good.slice(0, at),
    more: () => concat([good.slice(0, at), random.bytes(random.between(1, 3)), good.slice(at)])
  }[random.weighted({ none: 1, flip: 6, cut: 1, more: 3 })]()
  const what = `manifest ${[...bytes].join(' ')}`
  const read = []
  const error = await errorOf(() => withinBudget(bytes.length, () => read.push(Manifest.fromBytes(bytes))))
  if (read.length === 0) return expectCode(error, ['MANIFEST_INVALID'], what)
  expectThat(same(read[0].toBytes(), bytes), () => `${what}: it has another form, too`)
  const wrong = [...read[0]].some(([path, { src }]) => !path.startsWith('/') || src.version !== 1)
  expectThat(!wrong && read[0].toCollection().length <= read[0].length, () => what)
}

export default [{
  name: 'collections',
  about: 'the parser of meta blobs, fed with what is not quite one in any pieces; and the names as paths',
  run: collections
}, {
  name: 'manifests',
  about: 'the parser of manifests, fed with what is not quite one',
  run: manifests
}]
