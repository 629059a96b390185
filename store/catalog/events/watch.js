// Tells callers about changes of blobs and tags. For this, it reads the log of changes, and waits for new entries.

import { base16 } from 'multiformats/bases/base16'
import { toCid } from '../../../lib/hash/cid.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { describe } from '../../../lib/core/bytes.js'
import { untilAborted } from '../../../lib/source/async-util.js'
import { equals } from 'uint8arrays/equals'
import { EVENTS, decodeEntry, placeOfEntry } from '../../storage/format/events.js'
import { VIEWS, allEvents, eventKey } from '../../storage/format/keys.js'
import { isCorruption, orIfUnreadable, watchGap } from '../../storage/errors.js'
import { cidOfAlias } from '../names/alias-index.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Lifetime } from '../../storage/concurrency/lifetime.js' */
/** @import { SafeDatabase } from '../../storage/level/safe-database.js' */
/** @import { EventLog } from './event-log.js' */
/** @import { LogPlace, StoredEvent } from '../../storage/format/events.js' */

/**
 * @typedef {{ time: Date, point: string } & (
 *   { type: 'added' | 'completed' | 'damaged' | 'removed', cid: CID, complete: boolean, tag?: undefined } |
 *   { type: 'tagged', cid: CID, complete?: undefined, tag: string } |
 *   { type: 'untagged', cid?: CID, complete?: undefined, tag: string }
 * )} StoreEvent  `time`: when the change was written. `point`: a caller who passes it as `after` gets the events after
 *   this one. `cid`: the CID of the blob, or of the alias that the tag names; undefined for a damaged tag that was
 *   deleted. `complete`: true if the whole blob is present after the event. `tag`: the name of the tag
 */

/**
 * @typedef {'added' | 'completed' | 'damaged' | 'removed' | 'tagged' | 'untagged'} StoreEventType  `added`: a new blob
 *   was added, whole or in part. `completed`: the last missing part of a blob was added. `damaged`: a part of a whole
 *   blob was found damaged, and is missing now. `removed`: the blob was deleted, evicted or collected. `tagged`: a tag
 *   was set, and may have replaced another one of that name, or `fsck` has restored a damaged tag. `untagged`: a tag
 *   was deleted. Expired tags are deleted by the next `gc`
 */

/** @typedef {LogPlace & { skip: number }} Point  `skip`: how many events of the next entry were already yielded */

/** How many entries are read together. */
const BATCH_ENTRIES = 64

/** Returns a point as a string, for callers to keep. @param {LogPlace} place @param {number} [skip] */
export const pointOf = ({ position, check }, skip = 0) =>
  `${position}-${base16.baseEncode(check)}${skip === 0 ? '' : `-${skip}`}`

export class Watcher {
  #index
  #life
  #log

  /** @param {{ index: SafeDatabase, life: Lifetime, log: EventLog }} parts */
  constructor ({ index, life, log }) {
    this.#index = index
    this.#life = life
    this.#log = log
  }

  /**
   * See `Store.watch`.
   *
   * @param {{ after?: string, signal?: AbortSignal }} options
   * @returns {AsyncGenerator<StoreEvent>}
   */
  watch (options) {
    assertKnownOptions(options, ['after', 'signal'])
    const { after, signal } = options
    const point = after === undefined ? { ...this.#log.place, skip: 0 } : parsePoint(after)
    return this.#life.each(() => this.#events(point, { isOld: after !== undefined, signal }))
  }

  /**
   * @param {Point} from @param {{ isOld: boolean, signal?: AbortSignal }} options
   * @returns {AsyncGenerator<StoreEvent>}
   */
  async * #events (from, { isOld, signal }) {
    const wake = this.#log.watch()
    try {
      if (isOld) await this.#assertThere(from)
      let { skip, ...place } = from
      for (;;) {
        signal?.throwIfAborted()
        wake.reset()
        this.#life.assertOpen()
        const entries = await this.#entriesAfter(place)
        for (const entry of entries) {
          for (const [i, event] of entry.events.entries()) {
            if (i < skip) continue
            const point = i === entry.events.length - 1 ? pointOf(entry) : pointOf(place, i + 1)
            yield eventOf(event, { time: new Date(entry.time), point })
            signal?.throwIfAborted()
            this.#life.assertOpen()
          }
          skip = 0
          place = entry
        }
        if (entries.length === 0) await untilAborted(wake.change, signal)
      }
    } finally {
      wake.end()
    }
  }

  /**
   * Returns the entries after a place. Throws when the next one is missing or damaged.
   *
   * @param {LogPlace} place
   * @throws {BaoError} WATCH_GAP
   */
  async #entriesAfter (place) {
    const range = { gt: eventKey(place.position), lt: allEvents.lt, limit: BATCH_ENTRIES, ...VIEWS }
    const entries = []
    try {
      for await (const [key, value] of this.#index.iterator(range)) {
        const entry = decodeEntry(place, key, value)
        if (entry === undefined) {
          if (entries.length > 0) return entries // Return the entries before the gap; the next call throws.
          throw watchGap()
        }
        entries.push(entry)
        place = entry
      }
    } catch (error) {
      throw isCorruption(error) ? watchGap(error) : error
    }
    return entries
  }

  /** @param {LogPlace} point @throws {BaoError} WATCH_GAP */
  async #assertThere ({ position, check }) {
    if (this.#log.place.position === position && equals(this.#log.place.check, check)) return
    const key = eventKey(position)
    const value = await orIfUnreadable(this.#index.get(key, VIEWS))
    const place = value && placeOfEntry(key, value)
    if (place === undefined || !equals(place.check, check)) throw watchGap()
  }
}

/** @param {unknown} point @returns {Point} */
function parsePoint (point) {
  const match = typeof point === 'string' && /^(\d{1,16})-([0-9a-f]{16})(?:-(\d{1,9}))?$/.exec(point)
  const position = match ? Number(match[1]) : Infinity
  if (!match || position > Number.MAX_SAFE_INTEGER) {
    throw new TypeError(`"after" expected a point of "watch" or "info", got ${describe(point)}`)
  }
  return { position, check: base16.baseDecode(match[2]), skip: Number(match[3] ?? 0) }
}

/** @param {StoredEvent} event @param {Pick<StoreEvent, 'time' | 'point'>} place */
function eventOf ({ kind, root, alias, name }, place) {
  const type = EVENTS[kind] === 'addedWhole' ? 'added' : EVENTS[kind]
  const isKnown = root.some(byte => byte !== 0)
  const cid = alias !== undefined ? cidOfAlias(alias) : isKnown ? toCid(root) : undefined
  const about = name === undefined ? { complete: isWhole(kind) } : { tag: name }
  return /** @type {StoreEvent} */ ({ type, cid, ...about, ...place })
}

/** @param {number} kind */
const isWhole = kind => ['addedWhole', 'completed'].includes(EVENTS[kind])
