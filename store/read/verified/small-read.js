// The fast path for small reads at any place of a complete blob: one read of the bytes, mostly synchronous
// (sync-reads.js), and a comparison with pairs that are mostly in memory (trusted-trees.js). It returns right bytes, or
// undefined. Then the caller reads piece by piece (stored-view.js, verified-pieces.js), and so finds the fault.

import { untilAborted } from '../../../lib/source/async-util.js'
import { GROUP_LEN } from '../../sizes.js'
import { VIEWS } from '../../storage/format/keys.js'
import { hashesTo, subtreesOf } from './subtrees.js'

/** @import { BlobRecord } from '../../storage/format/records.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { Wanted } from '../reader.js' */
/** @import { TrustedTrees } from './trusted-trees.js' */

/** A small read has at most this many bytes. Longer ones are faster when one piece is hashed while the next is read. */
const MAX_LEN = 17 * GROUP_LEN

export class SmallReads {
  #databases
  #trees

  /** @param {Databases} databases @param {TrustedTrees} trees */
  constructor (databases, trees) {
    this.#databases = databases
    this.#trees = trees
  }

  /**
   * @param {Wanted} wanted
   * @returns {Uint8Array<ArrayBuffer> | undefined | Promise<Uint8Array<ArrayBuffer> | undefined>} bytes that belong to
   *   the caller; undefined when the caller must read piece by piece. The result is a promise only when the read is
   *   asynchronous; a caller that awaits it protects the blob
   */
  read ({ content, start, end, verify, signal }) {
    const { root, record } = content
    if (!record.complete || start >= end) return undefined
    const from = start - start % GROUP_LEN
    const to = Math.min(Math.ceil(end / GROUP_LEN) * GROUP_LEN, record.size)
    if (to - from > MAX_LEN) return undefined
    try {
      const given = after(content.readSoon(from, to), bytes => {
        if (bytes === undefined || bytes.length < to - from) return undefined
        const wanted = bytes.subarray(start - from, end - from)
        const isRight = !verify || this.#isRight(root, record, bytes, from)
        return after(isRight, isRight => isRight ? this.#databases.owned(wanted) : undefined)
      })
      return given instanceof Promise ? untilAborted(given, signal).catch(() => undefined) : given
    } catch {
      return undefined
    }
  }

  /**
   * @param {Uint8Array} root
   * @param {BlobRecord} record
   * @param {Uint8Array} bytes  of whole groups
   * @param {number} from  where the bytes begin
   * @returns {boolean | Promise<boolean>} a promise only when some pairs are not trusted yet
   */
  #isRight (root, record, bytes, from) {
    const { size } = record
    if (bytes.length === size) return hashesTo(bytes, 0, size, root)
    const tree = this.#trees.of(root, record)
    const spans = [...subtreesOf({ start: from, end: from + bytes.length }, size)]
    /** @param {number} i  index of the first span that was not compared @returns {boolean | Promise<boolean>} */
    const areRightFrom = i => {
      if (i === spans.length) return true
      const { start, end } = spans[i]
      const isRight = tree.isRight(bytes.subarray(start - from, end - from), start, this.#databases.data, () => VIEWS)
      return after(isRight, isRight => isRight && areRightFrom(i + 1))
    }
    return areRightFrom(0)
  }
}

/**
 * Passes a value to a function: immediately, or when its promise resolves.
 *
 * @template T, U @param {T | Promise<T>} value @param {(value: T) => U | Promise<U>} then @returns {U | Promise<U>}
 */
const after = (value, then) => value instanceof Promise ? value.then(then) : then(value)
