// Fetches damaged or missing groups with the option `heal` of a store, and tells a failed read when it can go on.

import { BaoError } from '../../lib/core/errors.js'
import { CHUNK_LEN } from '../../lib/core/constants.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { nameOf } from '../../lib/hash/roots.js'
import { toCid } from '../../lib/hash/cid.js'
import { untilAborted } from '../../lib/source/async-util.js'
import { cancelSource } from '../../lib/source/source.js'
import { missing } from '../storage/errors.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Source } from '../../lib/core/types.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { Presence } from '../catalog/presence.js' */
/** @import { Activity } from '../storage/concurrency/activity.js' */
/** @import { BlobReceiver } from '../write/receive/receive.js' */
/** @import { DamageNotes } from './damage-notes.js' */

/** Chunks that `heal` is asked for at a time, at most: it may keep 8 MiB in memory. */
const MAX_CHUNKS = (1 << 23) / CHUNK_LEN

/** @typedef {AsyncIterable<Uint8Array<ArrayBuffer>>} AnyPieces */

/**
 * A function of the caller that fetches groups of a blob which the store lacks, or has found damaged.
 *
 * @callback Heal
 * @param {CID} cid
 * @param {ChunkRanges} ranges  whole groups of the blob, 8 MiB at most: a read that needs more asks again
 * @param {{ signal: AbortSignal }} options  `signal` is aborted when no read waits any more, or the store is closed
 * @returns {Promise<Source | undefined>} a slice of exactly these ranges, at group log 4 and with the length in front;
 *   undefined when there is none
 */

/**
 * @typedef {{ ranges: ChunkRanges, done: Promise<unknown>, enter: () => () => void }} Ask  a call of `heal`, for which
 *   several reads may wait. A read that begins to wait calls `enter`, and calls the returned function when it stops
 */

/**
 * @typedef {object} HealerParts
 * @property {Activity} activity
 * @property {Catalog} catalog
 * @property {DamageNotes} damage
 * @property {Presence} presence
 * @property {BlobReceiver} receiver
 */

export class Healer {
  #activity
  #catalog
  #damage
  #presence
  #receiver
  #heal
  /** The calls of `heal` that are under way, by the names of the blobs. */
  #asks = /** @type {Map<string, Set<Ask>>} */ (new Map())

  /** @param {HealerParts} parts @param {Heal} [heal] */
  constructor ({ activity, catalog, damage, presence, receiver }, heal) {
    this.#activity = activity
    this.#catalog = catalog
    this.#damage = damage
    this.#presence = presence
    this.#receiver = receiver
    this.#heal = heal
  }

  get canHeal () { return this.#heal !== undefined }

  /**
   * @param {Uint8Array} root
   * @param {{ notes: boolean, signal?: AbortSignal }} options  `notes`: does the read compare bytes with the hash, so
   *   that a fault is damage to be noted?
   */
  read (root, options) {
    const parts = { catalog: this.#catalog, damage: this.#damage, healer: this, presence: this.#presence }
    return new HealingRead(parts, root, options)
  }

  /**
   * Fetches groups, and stores them. Groups that another read is already waiting for are not fetched again.
   *
   * @param {Uint8Array} root @param {ChunkRanges} ranges @param {AbortSignal} [signal]
   * @throws the error of `heal` or `receive`
   */
  async bring (root, ranges, signal) {
    const asks = this.#asks.get(nameOf(root)) ?? new Set()
    const shared = [...asks].filter(ask => !ask.ranges.intersect(ranges).isEmpty)
    const rest = shared.reduce((rest, ask) => rest.difference(ask.ranges), ranges)
    const needed = rest.isEmpty ? shared : [...shared, this.#ask(root, rest, asks)]
    const leaves = needed.map(ask => ask.enter())
    try {
      await untilAborted(Promise.all(needed.map(({ done }) => done)), signal)
    } finally {
      for (const leave of leaves) leave()
    }
  }

  /** @param {Uint8Array} root @param {ChunkRanges} ranges @param {Set<Ask>} asks  of the blob @returns {Ask} */
  #ask (root, ranges, asks) {
    const name = nameOf(root)
    const ending = new AbortController()
    let readers = 0
    const enter = () => {
      readers++
      return () => {
        if (--readers > 0) return
        end() // Later reads must not wait for this call, which may still be keeping what has come.
        ending.abort(new DOMException('no read waits any more', 'AbortError'))
      }
    }
    const fetching = () => this.#fetch(root, ranges, ending.signal)
    const done = this.#activity.run(fetching, reason => ending.abort(reason))
    const ask = { ranges, done, enter }
    this.#asks.set(name, asks.add(ask))
    const end = () => { if (asks.delete(ask) && asks.size === 0) this.#asks.delete(name) }
    done.then(end, end)
    return ask
  }

  /** @param {Uint8Array} root @param {ChunkRanges} ranges @param {AbortSignal} signal */
  async #fetch (root, ranges, signal) {
    const heal = /** @type {Heal} */ (this.#heal)
    const cid = toCid(root)
    const asked = (async () => heal(cid, ranges, { signal }))()
    const source = await untilAborted(asked, signal).catch(error => {
      asked.then(late => { if (late !== undefined) cancelSource(late) }, () => {}) // Nobody reads what comes now.
      throw error
    })
    if (source === undefined) throw new Error(`"heal" has nothing of ${cid}`)
    await this.#receiver.receive(cid, source, ranges, { signal })
  }
}

/**
 * One read, which goes on when damaged or missing groups have come back. Every group is fetched only once, and every
 * place is checked again only once. So a read ends even if the disk damages the fetched groups, too.
 */
class HealingRead {
  #parts
  #root
  #notes
  #signal
  /** Groups that were fetched for this read. */
  #brought = ChunkRanges.none
  /** Chunks at which a fault was found, although nothing turned out to be missing there. */
  #lookedAt = /** @type {Set<number>} */ (new Set())

  /**
   * @param {{ catalog: Catalog, damage: DamageNotes, healer: Healer, presence: Presence }} parts
   * @param {Uint8Array} root
   * @param {{ notes: boolean, signal?: AbortSignal }} options  see `Healer.read`
   */
  constructor (parts, root, { notes, signal }) {
    this.#parts = parts
    this.#root = root
    this.#notes = notes
    this.#signal = signal
  }

  /**
   * Gives the pieces of a read.
   *
   * @param {BlobRecord} record
   * @param {(given: number) => ChunkRanges} wanted  returns what must still be read when so many bytes were given
   * @param {(record: BlobRecord, given: number) => AnyPieces | Promise<AnyPieces>} read  reads the bytes after these
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  async * pieces (record, wanted, read) {
    let given = 0
    for (let now = record; ;) {
      try {
        for await (const piece of await read(now, given)) {
          given += piece.length
          yield piece
        }
        return
      } catch (error) {
        const next = await this.#after(error, now, wanted(given))
        if (given > 0 && next.size !== now.size) throw error // What was given may not fit the rest of the blob.
        now = next
      }
    }
  }

  /**
   * Handles the failure of a read: notes damage, and says whether the read may go on.
   *
   * @param {unknown} error
   * @param {BlobRecord} seen  the record that the read has used
   * @param {ChunkRanges} wanted  what the read has not read yet
   * @returns {Promise<BlobRecord>} the record with which the read goes on
   * @throws the error, when the read cannot go on. When `heal` could not fetch what is missing, `cause` is its error
   */
  async #after (error, seen, wanted) {
    const { catalog, healer, presence } = this.#parts
    if (isChanged(error)) {
      const now = await catalog.get(this.#root)
      // The bytes are where they were: the blob shares them now with a longer one that was made of it.
      if (now?.complete && now.base === seen.id) return now
    }
    const doubt = chunksInDoubt(error)
    if (doubt === undefined) throw error
    const isFault = /** @type {BaoError} */ (error).code === 'STORE_CORRUPT'
    if (isFault && !this.#notes) throw error
    const groups = wanted.canonical(seen.size)
    const places = groups.intersect(doubt)
    const [first] = (places.isEmpty ? doubt : places).boundaries
    // The file of a reference may be back, and the bytes of a sharer may have been healed for another sharer.
    const isInDoubt = isFault || seen.home === 'reference' || seen.home === 'shared'
    const now = isInDoubt ? await this.#look(error, seen, first, groups) : await catalog.get(this.#root)
    if (now === undefined) throw error
    const lost = await presence.missing(now, wanted)
    if (lost.isEmpty) {
      if (this.#lookedAt.has(first)) throw error
      this.#lookedAt.add(first)
      return now
    }
    if (!healer.canHeal || !lost.intersect(this.#brought).isEmpty) throw error
    const next = firstChunks(lost, MAX_CHUNKS)
    this.#brought = this.#brought.union(next)
    try {
      await healer.bring(this.#root, next, this.#signal)
    } catch (cause) {
      this.#signal?.throwIfAborted()
      throw Object.assign(/** @type {BaoError} */ (error), { cause })
    }
    return await catalog.get(this.#root) ?? now
  }

  /**
   * Waits until groups are present.
   *
   * @param {BlobRecord} record @param {ChunkRanges} wanted
   * @returns {Promise<BlobRecord>} the record as it is now
   * @throws {BaoError} STORE_MISSING
   */
  async present (record, wanted) {
    for (let now = record; ;) {
      const lost = await this.#parts.presence.missing(now, wanted)
      if (lost.isEmpty) return now
      now = await this.#after(missing(this.#root, now.size, lost), now, wanted)
    }
  }

  /**
   * @param {unknown} error
   * @param {BlobRecord} seen
   * @param {number} first  index of the chunk in doubt
   * @param {ChunkRanges} groups  groups that are wanted
   */
  #look (error, seen, first, groups) {
    const start = first * CHUNK_LEN
    // After the end of a file there is nothing to read. So note all of that at once.
    const last = seen.home !== 'extents' && isEndOfFile(error) ? groups.boundaries.at(-1) ?? first : first
    const end = Math.max(last * CHUNK_LEN, start + 1)
    return untilAborted(this.#parts.damage.note(this.#root, seen, { start, end }), this.#signal)
  }
}

/** @param {ChunkRanges} ranges @param {number} count  of chunks, at most */
function firstChunks (ranges, count) {
  let left = count
  for (const [start, end] of ranges) {
    if (end - start >= left) return ranges.intersect(new ChunkRanges([0, start + left]))
    left -= end - start
  }
  return ranges
}

/** @param {unknown} error */
const isChanged = error => error instanceof BaoError && error.code === 'STORE_CHANGED'

/** Did a file end before the wanted bytes, or was there no file? @param {unknown} error */
function isEndOfFile (error) {
  const { code, cause } = /** @type {BaoError} */ (error)
  if (code === 'STORE_MISSING') return true
  return cause instanceof BaoError && cause.code === 'BAO_TRUNCATED' && cause.node === undefined
}

/**
 * Returns the chunks that a read has found wrong or missing; undefined when it has failed for another reason.
 *
 * @param {unknown} error
 * @returns {ChunkRanges | undefined}
 */
function chunksInDoubt (error) {
  if (!(error instanceof BaoError)) return undefined
  const { code, start, len, ranges } = error
  if (code === 'STORE_MISSING') return ranges
  if (code !== 'STORE_CORRUPT' || start === undefined || len === undefined) return undefined
  return ChunkRanges.fromBytes(start, start + Math.max(1, len))
}
