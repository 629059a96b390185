// Keeps the log of changes of blobs and tags, in the order in which the index has written them.
//
// Each write of the index that changes a blob or a tag has an entry of the log in the same batch. So the log says
// exactly what was committed, even after a crash. Watchers read the log at their own pace, so the store does not queue
// events for them. When the log is too long, the store deletes the oldest entries.

import {
  EVENTS, encodeBeginning, encodeEntry, mayFollow, placeOfEntry, positionOfKey
} from '../../storage/format/events.js'
import { VIEWS, allEvents, eventKey } from '../../storage/format/keys.js'
import { eachReadable } from '../../storage/errors.js'
import { CHECK_LEN } from '../../storage/format/codec.js'
import { HASH_LEN } from '../../../lib/core/constants.js'
import { MAX_TIME } from '../../storage/format/records.js'
import { Watch } from './observers.js'

/** @import { Databases } from '../../storage/databases.js' */
/** @import { LogPlace, StoredEvent } from '../../storage/format/events.js' */
/** @import { Operation } from '../../storage/level/safe-database.js' */
/** @import { Change, TagChange } from '../catalog.js' */

/** How many bytes of the log are kept, and how many more it may have before the oldest entries are deleted. */
const KEPT_LEN = 1 << 22
const SLACK_LEN = 1 << 18

const KIND = Object.fromEntries(EVENTS.map((name, kind) => [name, kind]))
const UNKNOWN = new Uint8Array(HASH_LEN)

export class EventLog {
  #databases
  /**
   * The place after the last entry that was made, and the place after the last entry that the index has acknowledged.
   */
  #last = /** @type {LogPlace} */ ({ position: 0, check: new Uint8Array(CHECK_LEN) })
  #acknowledged = this.#last
  /** True if the log has a first entry. */
  #isBegun = false
  /** The position of the oldest entry that is kept. */
  #first = 0
  /** The latest time that `now` has returned, or that is in the log. */
  #time = 0
  #watches = /** @type {Set<Watch>} */ (new Set())

  /** @param {Databases} databases */
  constructor (databases) {
    this.#databases = databases
  }

  /** Finds the end of the log. Called when the store is opened. */
  async start () {
    const [last, before] = await this.#entries({ reverse: true, limit: 2 })
    if (last === undefined) return
    const place = placeOfEntry(...last)
    // After a damaged entry, a new log begins. Older points are invalid in it.
    if (place === undefined || !mayFollow(last, before)) return this.begin()
    this.#last = this.#acknowledged = place
    this.#isBegun = true
    this.#time = place.time <= MAX_TIME ? place.time : 0
    const [first] = await this.#entries({ limit: 1 })
    this.#first = (first && placeOfEntry(...first)?.position) ?? 0
  }

  /** Begins a new log after all existing entries. Older points are invalid in it. */
  async begin () {
    const last = await this.#lastEntry()
    const position = Math.max(Date.now(), ((last && positionOfKey(last[0])) ?? 0) + 1)
    const check = crypto.getRandomValues(new Uint8Array(CHECK_LEN))
    this.#last = this.#acknowledged = { position, check }
    if (this.#databases.isReadOnly) return
    await this.#databases.index.batch([{ type: 'put', ...encodeBeginning(this.#last, this.now()) }])
    this.#isBegun = true
  }

  async #lastEntry () { return (await this.#entries({ reverse: true, limit: 1 }))[0] }

  /** @param {object} options @returns {Promise<[key: Uint8Array, value: Uint8Array][]>} the entries that can be read */
  async #entries (options) {
    const entries = []
    const iterator = this.#databases.index.iterator({ ...allEvents, ...options, ...VIEWS })
    for await (const [key, value] of eachReadable(iterator)) {
      entries.push(/** @type {[Uint8Array, Uint8Array]} */ ([new Uint8Array(key), new Uint8Array(value)]))
    }
    return entries
  }

  /** The place after the last acknowledged entry. @returns {LogPlace} */
  get place () { return this.#acknowledged }

  /**
   * Returns the time in milliseconds since 1970. It never goes back, even if the clock of the system was set back while
   * the store was open or closed.
   */
  now () {
    this.#time = Math.max(this.#time, Date.now())
    return this.#time
  }

  /**
   * Makes the entry for a write. Callers must write entries in the order in which they make them.
   *
   * @param {Change[]} changes @param {TagChange[]} tags
   * @returns {{ operations: Operation[], place: LogPlace } | undefined} undefined when the write does not change any
   *   blob or tag
   */
  entryOf (changes, tags) {
    const events = /** @type {StoredEvent[]} */ ([])
    for (const change of changes) {
      const kind = kindOf(change)
      if (kind !== undefined) events.push({ kind, root: change.root })
    }
    for (const { name, before, after } of tags) {
      const { root = UNKNOWN, alias } = after ?? before ?? {}
      events.push({ kind: after === undefined ? KIND.untagged : KIND.tagged, root, alias, name })
    }
    if (events.length === 0) return undefined
    const operations = /** @type {Operation[]} */ ([])
    const time = this.now()
    if (!this.#isBegun) operations.push({ type: 'put', ...encodeBeginning(this.#last, time) })
    const { key, value, position, check } = encodeEntry(this.#last, { time, events })
    operations.push({ type: 'put', key, value })
    this.#isBegun = true
    this.#last = { position, check }
    return { operations, place: this.#last }
  }

  /** Notes that the index has acknowledged an entry. @param {LogPlace} place  after the entry */
  acknowledge (place) {
    if (place.position > this.#acknowledged.position) this.#acknowledged = place
    for (const watch of this.#watches) watch.wake()
    if (place.position - this.#first > KEPT_LEN + SLACK_LEN) this.#trim(place.position - KEPT_LEN)
  }

  /** Deletes the oldest entries in the background. @param {number} first  position of the oldest entry that stays */
  #trim (first) {
    this.#first = first
    this.#databases.index.clear({ gte: allEvents.gte, lt: eventKey(first) }).catch(() => {}) // The next call retries.
  }

  /** Wakes all watchers, which then notice that the store is closed. */
  end () { for (const watch of this.#watches) watch.wake() }

  /** Returns a watch that is woken each time there are new entries. */
  watch () {
    const watch = new Watch(() => { this.#watches.delete(watch) })
    this.#watches.add(watch)
    return watch
  }
}

/** Returns the kind of event for a change; undefined if watchers are not told of it. @param {Change} change */
function kindOf ({ before, after }) {
  if (after === undefined) return KIND.removed
  if (before === undefined) return after.complete ? KIND.addedWhole : KIND.added
  if (before.complete === after.complete) return undefined
  return after.complete ? KIND.completed : KIND.damaged
}
