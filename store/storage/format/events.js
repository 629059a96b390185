// Encodes and decodes the log of changes in the index. An entry holds the changes of one write. Its check covers the
// check of the previous entry, so that a reader notices a missing or damaged entry.

import { HASH_LEN } from '../../../lib/core/constants.js'
import { equals } from 'uint8arrays/equals'
import { CHECK_LEN, checkOf, encode, u64At } from './codec.js'
import { MAX_TIME } from './records.js'
import { MAX_POSITION, UTF8, eventKey, isEventKey } from './keys.js'

/**
 * The kinds of events; each is stored as one byte. `added`: a part of a new blob was added. `addedWhole`: a whole new
 * blob was added.
 */
export const EVENTS = ['added', 'addedWhole', 'completed', 'damaged', 'removed', 'tagged', 'untagged']
/** The first kind of event of a tag. An event of a tag also has an alias and a name, after the lengths of both. */
const FIRST_OF_TAGS = EVENTS.indexOf('tagged')
const LENS_LEN = 6
const TIME_LEN = 8

/**
 * @typedef {object} StoredEvent
 * @property {number} kind  index in `EVENTS`
 * @property {Uint8Array} root  of the blob; zeros if it is not known
 * @property {Uint8Array} [alias]  the alias that the tag names; undefined when the tag names a blob
 * @property {string} [name]  the name of the tag
 */

/**
 * @typedef {object} LogPlace  a place between two entries of the log
 * @property {number} position  the position of the entry before the place: how many bytes the log had up to the end of
 *   that entry
 * @property {Uint8Array} check  the check of that entry
 */

/**
 * @param {LogPlace} before @param {{ time: number, events: StoredEvent[] }} entry  `time`: milliseconds since 1970
 * @returns {LogPlace & { key: Uint8Array, value: Uint8Array }} the place after the entry
 */
export function encodeEntry (before, { time, events }) {
  const parts = encode({ u64: time }, ...events.flatMap(partsOf))
  const position = before.position + parts.length + CHECK_LEN
  const key = eventKey(position)
  const check = checkOf(encode(key, before.check), parts)
  return { position, check, key, value: encode(parts, check) }
}

/** @param {StoredEvent} event */
function partsOf ({ kind, root, alias = new Uint8Array(0), name }) {
  if (name === undefined) return [kind, root]
  const utf8 = new TextEncoder().encode(name)
  const lens = new Uint8Array(LENS_LEN)
  const view = new DataView(lens.buffer)
  view.setUint16(0, alias.length)
  view.setUint32(2, utf8.length)
  return [kind, root, lens, alias, utf8]
}

/**
 * @param {LogPlace} before  where the reader is
 * @param {Uint8Array} key @param {Uint8Array} value
 * @returns {LogPlace & { time: number, events: StoredEvent[] } | undefined} undefined when the entry is damaged, or
 *   does not follow the place
 */
export function decodeEntry (before, key, value) {
  const place = placeOfEntry(key, value)
  if (place === undefined) return undefined
  const parts = value.subarray(0, -CHECK_LEN)
  if (!equals(place.check, checkOf(encode(key, before.check), parts))) return undefined
  const time = u64At(parts, 0)
  const events = eventsIn(parts.subarray(TIME_LEN))
  return time > MAX_TIME || events === undefined ? undefined : { ...place, time, events }
}

/**
 * Encodes the first entry of a log, which has no events.
 *
 * @param {LogPlace} place  after that entry @param {number} time
 */
export const encodeBeginning = ({ position, check }, time) =>
  ({ key: eventKey(position), value: encode({ u64: time }, check) })

/**
 * Returns the place after an entry. It does not compare the check.
 *
 * @param {Uint8Array} key @param {Uint8Array} value
 * @returns {LogPlace & { time: number } | undefined} undefined for an entry that no store writes
 */
export function placeOfEntry (key, value) {
  const position = positionOfKey(key)
  if (position === undefined || value.length < TIME_LEN + CHECK_LEN) return undefined
  return { position, check: value.slice(-CHECK_LEN), time: u64At(value, 0) }
}

/**
 * Returns true if an entry is right, as far as the entry before it can tell.
 *
 * @param {[key: Uint8Array, value: Uint8Array]} entry @param {[key: Uint8Array, value: Uint8Array]} [before]
 */
export function mayFollow ([key, value], before) {
  const place = before && placeOfEntry(...before)
  const isBeginning = value.length === TIME_LEN + CHECK_LEN
  return place === undefined || isBeginning || decodeEntry(place, key, value) !== undefined
}

/**
 * @param {Uint8Array} key  of an entry
 * @returns {number | undefined} the position of the entry; undefined for a key that no store writes
 */
export function positionOfKey (key) {
  const position = isEventKey(key) ? u64At(key, 1) : Infinity
  return position <= MAX_POSITION ? position : undefined
}

/** @param {Uint8Array} bytes @returns {StoredEvent[] | undefined} undefined for events that no store writes */
function eventsIn (bytes) {
  const events = []
  for (let at = 0; at < bytes.length;) {
    const kind = bytes[at]
    const root = bytes.slice(at + 1, at + 1 + HASH_LEN)
    at += 1 + HASH_LEN
    if (EVENTS[kind] === undefined || at > bytes.length) return undefined
    if (kind < FIRST_OF_TAGS) {
      events.push({ kind, root })
      continue
    }
    if (at + LENS_LEN > bytes.length) return undefined
    const view = new DataView(bytes.buffer, bytes.byteOffset + at)
    const [aliasLen, nameLen] = [view.getUint16(0), view.getUint32(2)]
    at += LENS_LEN
    if (at + aliasLen + nameLen > bytes.length) return undefined
    const alias = aliasLen === 0 ? undefined : bytes.slice(at, at + aliasLen)
    const name = UTF8.decode(bytes.subarray(at + aliasLen, at + aliasLen + nameLen))
    events.push({ kind, root, alias, name })
    at += aliasLen + nameLen
  }
  return events
}
