// What a store keeps in its index, when bits of it have flipped, and when somebody has written it with a right check.
import { checkOf, encode } from '../../../store/storage/format/codec.js'
import {
  EVENTS, decodeEntry, encodeBeginning, encodeEntry, placeOfEntry
} from '../../../store/storage/format/events.js'
import { aliasKey, deletionKey, eventKey, hashOfKey, placeOfKey } from '../../../store/storage/format/keys.js'
import {
  MAX_TIME, decodeAlias, decodeDeletion, decodePath, decodeRecord, decodeState, decodeTime, encodeAlias, encodeDeletion,
  encodePath, encodeRecord, encodeState, encodeTime
} from '../../../store/storage/format/records.js'
import {
  MAX_META_LEN, decodeMeta, decodeTag, decodeTagged, encodeMeta, encodeTag, isLive, placeOfAlias, protects
} from '../../../store/storage/format/tags.js'
import { concat, flipped, hex } from '../../support/bytes.js'
import { expectThat } from '../finding.js'
import { oneFlipped } from '../mutations.js'

/** @import { Random } from '../random.js' */

/** Any value as text, for comparing and for telling. */
const told = value => JSON.stringify(value, (_, part) => part instanceof Uint8Array ? hex(part) : part)

/**
 * Bytes mean what they were made of, and nothing when any of them is another.
 *
 * @param {Random} random @param {string} name @param {Uint8Array} good
 * @param {(bytes: Uint8Array) => any} decode @param {any} value
 */
function expectOnly (random, name, good, decode, value) {
  const got = decode(good)
  expectThat(
    typeof value === 'object' && got !== undefined
      ? Object.keys(value).every(key => told(got[key]) === told(value[key]))
      : got === value,
    () => `a ${name} that means something else: ${told(got)} instead of ${told(value)}`
  )
  expectNoOther(random, name, good, decode)
  for (let at = 0; at < good.length; at++) {
    expectThat(decode(good.slice(0, at)) === undefined, () => `a ${name} cut at ${at} was believed`)
  }
  expectThat(
    decode(concat([good, random.bytes(random.between(1, 9))])) === undefined, () => `a longer ${name} was believed`
  )
  expectThat(decode(random.bytes(random.below(60))) === undefined, () => `noise was believed to be a ${name}`)
}

/**
 * Bytes mean nothing when any of them is another.
 *
 * @param {Random} random @param {string} name @param {Uint8Array} good @param {(bytes: Uint8Array) => any} decode
 * @param {number} [start]  the first byte that is changed
 */
function expectNoOther (random, name, good, decode, start = 0) {
  const xor = random.between(1, 255)
  for (let at = start; at < good.length; at++) {
    expectThat(
      decode(flipped(good, at, xor)) === undefined, () => `a ${name} with byte ${at} changed by ${xor} was believed`
    )
  }
}

/** 0 to 2^53 - 1. @param {Random} random */
const someNumber = random => Number(random.claim(random.below(5000)) & (2n ** 53n - 1n))

/** @param {Random} random */
function records (random) {
  const number = () => someNumber(random)
  const root = random.bytes(32)
  const record = {
    id: number() % 2 ** 48,
    size: number() || 1,
    sizeProven: random.chance(0.5),
    complete: random.chance(0.5),
    created: number() % MAX_TIME,
    home: random.pick(['extents', 'file', 'reference']),
    isNameless: random.chance(0.5),
    isDamaged: random.chance(0.5)
  }
  const state = { version: 1, isClean: random.chance(0.5), swept: number(), nextId: number() }
  const id = number() % 2 ** 48
  expectOnly(random, 'record', encodeRecord(root, record), bytes => decodeRecord(root, bytes), record)
  expectOnly(random, 'state', encodeState(state), decodeState, state)
  const ids = [id, ...Array.from({ length: random.below(4) }, () => random.below(2 ** 40))]
  expectOnly(random, 'note', encodeDeletion(ids), bytes => decodeDeletion(deletionKey(id), bytes), ids)
  const path = random.pick(['/', 'C:\\blobs\\é', '\\\\server\\share', '/tmp/\ud83d\ude00'])
  expectOnly(random, 'path', encodePath(id, path), bytes => decodePath(id, bytes), path)
  expectThat(decodePath(id, encodePath(id, random.pick(['a', './a', '/a\0b']))) === undefined, () => 'a wrong path')
  expectThat(
    decodeRecord(random.bytes(32), encodeRecord(root, record)) === undefined,
    () => 'the record of another blob was believed'
  )
  for (const never of [{ size: 0 }, { size: 2 ** 53 }, { size: 2 ** 63 }, { id: 2 ** 48 }, { created: MAX_TIME + 1 }]) {
    expectThat(
      decodeRecord(root, encodeRecord(root, { ...record, ...never })) === undefined,
      () => `a record that was never written was believed: ${Object.entries(never)}`
    )
  }
  for (const bits of [0x18, 0x40, 0x80]) {
    const bytes = encodeRecord(root, record).slice(0, -8)
    bytes[16] |= bits
    const decoded = decodeRecord(root, concat([bytes, checkOf(root, bytes)]))
    expectThat(decoded === undefined, () => `a record with the flags ${bytes[16]} was believed`)
  }
  timesAndKeys(random)
}

/** They have no check: whatever they say must be possible. @param {Random} random */
function timesAndKeys (random) {
  const time = decodeTime(
    random.chance(0.5) ? oneFlipped(random, encodeTime(Date.now())) : random.bytes(random.below(12))
  )
  expectThat(time === undefined || !isNaN(new Date(time).getTime()), () => `a time of ${time}`)
  const key = random.bytes(random.chance(0.7) ? 17 : random.below(40))
  const place = placeOfKey(key)
  for (const part of Object.values(place ?? {})) {
    expectThat(Number.isSafeInteger(part), () => `a key that means ${JSON.stringify(place)}`)
  }
  hashOfKey(key)
}

const NAMES = ['a', 'backup/2024', '\ufeffx', 'é\ud83d\ude00', 'n'.repeat(300)]
const METAS = [null, false, -1, 'text', { a: [1, { b: 2.5 }] }, [[]], new Uint8Array(70)]

/** @param {Random} random */
const someMultihash = random => concat([Uint8Array.of(0x12, 0x20), random.bytes(32)])

/** @param {Random} random */
function tags (random) {
  const alias = random.chance(0.4) ? someMultihash(random) : undefined
  const tag = {
    name: random.pick(NAMES),
    root: alias ? placeOfAlias(alias) : random.bytes(32),
    format: alias ? 'raw' : random.pick(['raw', 'hashseq']),
    alias,
    expires: random.chance(0.5) ? someNumber(random) % MAX_TIME || undefined : undefined,
    meta: random.chance(0.7) ? encodeMeta(random.pick(METAS)) : undefined
  }
  const { named: [key, value], beside: [besideKey, besideValue] } = encodeTag(tag)
  expectOnly(random, 'tag', value, bytes => decodeTag(key, bytes), tag)
  expectOnly(random, 'tag beside its blob', besideValue, bytes => decodeTagged(besideKey, bytes), tag)
  // The first byte of a key is the kind, by which entries are found.
  expectNoOther(random, 'name of a tag', key, bytes => decodeTag(bytes, value), 1)
  expectNoOther(random, 'key of a tag beside its blob', besideKey, bytes => decodeTagged(bytes, besideValue), 1)

  const now = someNumber(random)
  expectThat(protects(besideKey, besideValue, now) === isLive(tag, now), () => `a tag at ${now}: ${told(tag)}`)
  expectNoOther(random, 'damaged tag that protects nothing', besideValue,
    bytes => protects(besideKey, bytes, now) ? undefined : bytes)

  for (const never of [
    { format: 'other' },
    { expires: MAX_TIME + 1 },
    { alias: someMultihash(random), format: 'hashseq' },
    { meta: Uint8Array.of(0xff) },
    { meta: concat([encodeMeta(1), random.bytes(1)]) },
    { meta: concat([new Uint8Array(65).fill(0x81), Uint8Array.of(0x80)]) }, // 66 arrays in each other
    { meta: concat([Uint8Array.of(0x59, 0x0f, 0xfe), random.bytes(MAX_META_LEN - 2)]) } // a string, a byte too long
  ]) {
    const { named, beside } = encodeTag({ ...tag, ...never })
    expectThat(
      decodeTag(...named) === undefined && decodeTagged(...beside) === undefined,
      () => `a tag that was never written was believed: ${told(never).slice(0, 200)}`
    )
  }
  // An attacker who writes to the index can also give a right check: what is read must be readable.
  const noise = decodeTag(...encodeTag({ ...tag, meta: random.bytes(random.below(40)) }).named)
  expectThat(
    noise?.meta === undefined || decodeMeta(noise.meta) !== undefined, () => `metadata of noise: ${told(noise)}`
  )
  aliases(random)
}

/** @param {Random} random */
function aliases (random) {
  const multihash = someMultihash(random)
  const alias = { root: random.bytes(32), isForgotten: random.chance(0.5) }
  const decode = bytes => decodeAlias(multihash, bytes)
  const value = encodeAlias(multihash, alias)
  expectOnly(random, 'alias', value, decode, alias)
  expectNoOther(random, 'name of an alias', multihash, bytes => decodeAlias(bytes, value))
  const checked = (...parts) => encode(...parts, checkOf(aliasKey(multihash), encode(...parts)))
  for (const never of [
    checked(alias.root, random.between(2, 255)), checked(alias.root), checked(alias.root, 0, 0), checked(0), alias.root
  ]) expectThat(decode(never) === undefined, () => `an alias that was never written was believed: ${hex(never)}`)
}

/** @param {Random} random */
function someEvent (random) {
  const kind = random.below(EVENTS.length)
  const root = random.bytes(32)
  if (!EVENTS[kind].endsWith('tagged')) return { kind, root }
  return { kind, root, alias: random.chance(0.4) ? someMultihash(random) : undefined, name: random.pick(NAMES) }
}

/** @param {Random} random */
function changes (random) {
  const before = { position: someNumber(random) % 2 ** 52, check: random.bytes(8) }
  const events = Array.from({ length: random.below(4) }, () => someEvent(random))
  const entry = { time: someNumber(random) % MAX_TIME, events }
  const { key, value, position, check } = encodeEntry(before, entry)
  expectOnly(
    random, 'log entry', value, bytes => decodeEntry(before, key, bytes), { ...entry, position, check }
  )
  expectNoOther(random, 'key of a log entry', key, bytes => decodeEntry(before, bytes, value))
  expectNoOther(
    random, 'check of the entry before', before.check, other => decodeEntry({ ...before, check: other }, key, value)
  )
  const begin = encodeBeginning(before, entry.time)
  expectThat(
    told(placeOfEntry(begin.key, begin.value)) === told({ ...before, time: entry.time }),
    () => `a log that begins elsewhere than at ${told(before)}`
  )
  const place = placeOfEntry(random.bytes(random.pick([8, 9, 9, 10])), random.bytes(random.below(40)))
  expectThat(
    place === undefined || Number.isSafeInteger(place.position), () => `noise is the place ${told(place)}`
  )

  // With a right check, whatever they say.
  const read = parts => {
    const at = eventKey(before.position + parts.length + 8)
    return decodeEntry(before, at, encode(parts, checkOf(encode(at, before.check), parts)))
  }
  const late = encodeEntry(before, { ...entry, time: MAX_TIME + 1 })
  expectThat(decodeEntry(before, late.key, late.value) === undefined, () => 'a log entry of no time was believed')
  const time = encodeTime(entry.time)
  const unknown = read(encode(time, random.between(EVENTS.length, 255), random.bytes(random.pick([32, 38, 60]))))
  expectThat(unknown === undefined, () => `an unknown event was believed: ${told(unknown)}`)
  const single = encodeEntry(before, { ...entry, events: [someEvent(random)] }).value.slice(0, -8)
  for (let end = time.length + 1; end < single.length; end++) {
    const cut = read(single.slice(0, end))
    expectThat(cut === undefined, () => `an event cut at ${end} of ${single.length} was believed`)
  }
  const other = read(oneFlipped(random, single))
  const isPossible = other === undefined || (other.time <= MAX_TIME && other.events.every(
    ({ kind, root, name }) => root.length === 32 && EVENTS[kind] !== undefined &&
      (name !== undefined) === EVENTS[kind].endsWith('tagged')))
  expectThat(isPossible, () => `a log entry that says ${told(other)}`)
}

export default [
  {
    name: 'records',
    about: 'records, states, notes, paths, times and keys with every byte changed and cut at every byte',
    run: records
  },
  {
    name: 'tags',
    about: 'tags with metadata, and aliases, with every byte changed and cut at every byte, and with right checks',
    run: tags
  },
  {
    name: 'changes',
    about: 'entries of the log of changes with every byte changed and cut at every byte, and with right checks',
    run: changes
  }
]
