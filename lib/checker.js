// Verification against a root: bytes of an encoding in, believed pairs and leaves out. It asks for bytes and never reads.
//
// It looks at a window at a time. Each parent's chaining value follows from its own pair, each leaf's from its own bytes, so all of a
// window are hashed side by side, before any of them is believed; only then are they compared, in the order of the walk, each with what
// its parent says. The first that differs ends it. Source: Bao spec, "Decoder"; BLAKE3 paper 6.4.

import { CHUNK_END, CHUNK_LEN, HASH_LEN, MAX_DEPTH, PAIR_LEN, PARENT, ROOT } from './constants.js'
import { CVS, INPUT, INPUT_LEN, KEY, LEAF_CVS, OUT, PAIR_CVS, TABLE, overflows, u32, u8 } from './arena.js'
import { ENTER, LEAF, Walk } from './walk.js'
import { OutputReader } from './output.js'
import { TreeBuilder } from './builder.js'
import { cvsOf, high, low, reduce } from './window.js'
import { enter, wordsOf } from './mode.js'
import { kernel } from './kernel/index.js'
import { leafMismatch, parentMismatch, truncated } from './errors.js'

/** @import { BelievedSink, Mode } from './types.js' */
/** @import { ChunkRanges } from './ranges.js' */
/** @import { BaoError } from './errors.js' */

const CV_WORDS = HASH_LEN / 4

/** A step of the walk that waits for its bytes: a parent and which children follow, or a leaf. */
const IS_PARENT = 1
const HAS_LEFT = 2
const HAS_RIGHT = 4
const IS_LEAF = 0

export class Checker {
  #mode
  #walk
  #size
  #sink
  /** The walk stands at a step that did not fit into the window before. */
  #isHeld = false
  /** Steps of the window in hand, from `#first` on: what they are, their node number or byte offset, their length in the encoding. */
  #kinds = /** @type {number[]} */ ([])
  #places = /** @type {number[]} */ ([])
  #lens = /** @type {number[]} */ ([])
  #first = 0
  /** Bytes of these steps, and those that came so far. */
  #windowLen = 0
  #pending = new Uint8Array(0)
  #pendingLen = 0
  /** Is the next step the root? */
  #isAtRoot = true
  /** Chaining values that the parents seen so far promise, the next one wanted on top; at first, the root hash. */
  #promised = new Uint32Array((MAX_DEPTH + 2) * CV_WORDS)
  #depth = 1

  /** Bytes of the encoding that were found right. */
  verified = 0
  /** Has the last chunk been verified? Only then is the size more than a claim. Bao spec, "Decoder". */
  isSizeProven = false
  /** What ended the verification. @type {BaoError | undefined} */
  error

  /**
   * @param {object} what
   * @param {Uint8Array} what.root  32 bytes
   * @param {number} what.size  bytes; a claim
   * @param {number} what.groupLog  0 to 16
   * @param {ChunkRanges} what.ranges
   * @param {Mode} what.mode
   * @param {BelievedSink} sink
   */
  constructor ({ root, size, groupLog, ranges, mode }, sink) {
    this.#mode = mode
    this.#size = size
    this.#sink = sink
    this.#walk = new Walk(size, groupLog, ranges)
    this.#promised.set(wordsOf(root))
    this.#plan()
  }

  /** Has everything that was wanted been found right? */
  get isDone () { return this.#first === this.#kinds.length }

  /** Bytes that are missing until the window in hand can be looked at. */
  get wanted () { return this.#windowLen - this.#pendingLen }

  /**
   * Takes bytes of the encoding, and looks at every window that they fill.
   *
   * @param {Uint8Array} bytes  any piece; read, not kept
   * @returns {number} how many belonged to the encoding: fewer than all only at its end
   * @throws {BaoError} BAO_PARENT_MISMATCH, BAO_LEAF_MISMATCH: what stood before has gone to the sink, nothing comes after
   */
  write (bytes) {
    if (this.error) throw this.error
    let at = 0
    while (!this.isDone) {
      const due = this.wanted
      if (bytes.length - at < due) {
        this.#stash(bytes.subarray(at))
        return bytes.length
      }
      this.#look(bytes.subarray(at, at + due))
      at += due
    }
    return at
  }

  /** Looks at every step whose bytes are in hand, without waiting for the window to fill. */
  flush () {
    if (this.error) throw this.error
    let count = 0
    let len = 0
    for (let i = this.#first; i < this.#kinds.length && len + this.#lens[i] <= this.#pendingLen; i++) {
      len += this.#lens[i]
      count++
    }
    if (count === 0) return
    this.#check(count, this.#pending.subarray(0, len), NOTHING)
    this.#pending.copyWithin(0, len, this.#pendingLen)
    this.#pendingLen -= len
    this.#windowLen -= len
    this.#first += count
    if (this.isDone) this.#plan()
  }

  /**
   * Says that no more bytes come.
   *
   * @throws {BaoError} BAO_TRUNCATED when more were due
   */
  end () {
    this.flush()
    if (this.isDone) return
    const place = this.#places[this.#first]
    const amounts = { wanted: this.#lens[this.#first], got: this.#pendingLen }
    this.error = truncated(this.#kinds[this.#first] === IS_LEAF ? { start: place, ...amounts } : { node: place, ...amounts })
    throw this.error
  }

  /** Collects the steps of the next window: as many as fit into the arena, or one leaf that is larger. */
  #plan () {
    this.#kinds.length = this.#places.length = this.#lens.length = this.#first = 0
    this.#windowLen = 0
    let chunks = 0
    const walk = this.#walk
    while (this.#isHeld || walk.next()) {
      this.#isHeld = false
      const len = walk.kind === ENTER ? PAIR_LEN : walk.len
      if (walk.kind === LEAF) chunks += Math.ceil(len / CHUNK_LEN)
      if (this.#kinds.length > 0 && overflows(this.#windowLen + len, chunks)) {
        this.#isHeld = true
        return
      }
      this.#kinds.push(walk.kind === LEAF ? IS_LEAF : IS_PARENT | (walk.hasLeft ? HAS_LEFT : 0) | (walk.hasRight ? HAS_RIGHT : 0))
      this.#places.push(walk.kind === LEAF ? walk.start : walk.node)
      this.#lens.push(len)
      this.#windowLen += len
    }
  }

  /** Memory follows what came, not what was claimed. @param {Uint8Array} bytes  no more than the window wants */
  #stash (bytes) {
    const len = this.#pendingLen + bytes.length
    if (len > this.#pending.length) {
      const roomier = new Uint8Array(Math.min(this.#windowLen, Math.max(CHUNK_LEN, 2 * this.#pending.length, len)))
      roomier.set(this.#pending.subarray(0, this.#pendingLen))
      this.#pending = roomier
    }
    this.#pending.set(bytes, this.#pendingLen)
    this.#pendingLen = len
  }

  /** The window is complete. @param {Uint8Array} rest  the bytes that it still wanted */
  #look (rest) {
    this.#check(this.#kinds.length - this.#first, this.#pending.subarray(0, this.#pendingLen), rest)
    this.#pendingLen = 0
    this.#plan()
  }

  /** Verifies the next `count` steps. @param {number} count @param {Uint8Array} head  their bytes @param {Uint8Array} tail  and the rest of them */
  #check (count, head, tail) {
    if (head.length + tail.length > INPUT_LEN) return this.#checkLarge(head, tail)
    enter(this.#mode)
    u8.set(head, INPUT)
    u8.set(tail, INPUT + head.length)
    this.#hashPairs(count)
    this.#hashLeaves(count)
    this.#compare(count, u8, INPUT)
  }

  /** One leaf that does not fit into the arena. @param {Uint8Array} head @param {Uint8Array} tail */
  #checkLarge (head, tail) {
    const bytes = tail.length === 0 ? head : new Uint8Array(head.length + tail.length)
    if (bytes !== head) {
      bytes.set(head)
      bytes.set(tail, head.length)
    }
    const tree = new TreeBuilder(this.#mode, { startChunk: this.#places[this.#first] / CHUNK_LEN })
    tree.update(bytes)
    u8.set(this.#isAtRoot ? new OutputReader(tree.root()).read(HASH_LEN) : tree.cv(), LEAF_CVS)
    this.#compare(1, bytes, 0)
  }

  /** Chaining values of all parents among the steps, to PAIR_CVS. @param {number} count */
  #hashPairs (count) {
    const { flags } = this.#mode
    let at = INPUT
    let pairs = 0
    for (let i = this.#first; i < this.#first + count; i++) {
      if (this.#kinds[i] !== IS_LEAF) u32[TABLE / 4 + pairs++] = at
      at += this.#lens[i]
    }
    if (pairs > 0) kernel.compressMany(TABLE, pairs, flags | PARENT, 0, 0, PAIR_CVS)
    if (this.#isAtRoot && pairs > 0) {
      kernel.compressBlock(KEY, INPUT, PAIR_LEN, flags | PARENT | ROOT, 0, 0, OUT)
      u8.copyWithin(PAIR_CVS, OUT, OUT + HASH_LEN)
    }
  }

  /**
   * Chaining values of all leaves among the steps, to LEAF_CVS. Leaves that follow one another and have the same power of two of chunks
   * are reduced together.
   *
   * @param {number} count
   */
  #hashLeaves (count) {
    const end = this.#first + count
    let at = INPUT
    let leaves = 0
    for (let i = this.#first; i < end;) {
      if (this.#kinds[i] !== IS_LEAF) {
        at += this.#lens[i++]
        continue
      }
      const first = i
      const len = this.#lens[i]
      const isRegular = Number.isInteger(Math.log2(len / CHUNK_LEN))
      const start = this.#places[i]
      let run = 0
      let chunks = 0
      for (; i < end; at += this.#lens[i++]) {
        if (this.#kinds[i] !== IS_LEAF) continue
        if (i > first && !(isRegular && this.#lens[i] === len && this.#places[i] === start + run * len)) break
        for (let done = 0; done < len; done += CHUNK_LEN) u32[TABLE / 4 + chunks++] = at + done
        run++
      }
      this.#hashRun(run, len, start, chunks, LEAF_CVS + leaves * HASH_LEN)
      leaves += run
    }
  }

  /**
   * @param {number} run  leaves
   * @param {number} len  bytes of each
   * @param {number} start  byte offset of the first in the blob
   * @param {number} chunks  of all of them, at the pointers in TABLE
   * @param {number} out
   */
  #hashRun (run, len, start, chunks, out) {
    const { flags } = this.#mode
    const isRoot = this.#isAtRoot && this.#kinds[this.#first] === IS_LEAF
    const rest = len % CHUNK_LEN
    const whole = rest === 0 ? chunks : chunks - 1
    const index = start / CHUNK_LEN
    if (isRoot && len <= CHUNK_LEN) {
      kernel.compressChunk(INPUT, len, flags, CHUNK_END | ROOT, 0, 0, out)
      return
    }
    if (whole > 0) kernel.compressMany(TABLE, whole, flags, low(index), high(index), CVS)
    if (rest > 0) {
      kernel.compressChunk(u32[TABLE / 4 + whole], rest, flags, CHUNK_END, low(index + whole), high(index + whole), CVS + whole * HASH_LEN)
    }
    if (isRoot) {
      kernel.compressBlock(KEY, cvsOf(reduce(chunks, flags)).at, PAIR_LEN, flags | PARENT | ROOT, 0, 0, out)
      return
    }
    const { at } = cvsOf(reduce(chunks, flags, run))
    u8.copyWithin(out, at, at + run * HASH_LEN)
  }

  /**
   * Believes the steps one after the other.
   *
   * @param {number} count
   * @param {Uint8Array} memory  holds their bytes; what stood before a step may be overwritten when its turn comes
   * @param {number} at  from here on
   */
  #compare (count, memory, at) {
    const end = this.#first + count
    const run = new Run(memory, this.#sink)
    let pairCv = PAIR_CVS / 4
    let leafCv = LEAF_CVS / 4
    for (let i = this.#first; i < end; i++) {
      const kind = this.#kinds[i]
      const place = this.#places[i]
      const len = this.#lens[i]
      const isLeaf = kind === IS_LEAF
      if (!this.#isPromised(isLeaf ? leafCv : pairCv)) {
        run.end()
        throw (this.error = isLeaf ? leafMismatch(place, len) : parentMismatch(place))
      }
      if (isLeaf) {
        leafCv += CV_WORDS
        // Only here: what verified as the last chunk of a blob of this size proves the size.
        if (place + len === this.#size) this.isSizeProven = true
        run.add(place, at, len)
      } else {
        pairCv += CV_WORDS
        if (kind & HAS_RIGHT) this.#promise(at + HASH_LEN)
        if (kind & HAS_LEFT) this.#promise(at)
        this.#sink.pair?.(place, at)
      }
      this.#isAtRoot = false
      this.verified += len
      at += len
    }
    run.end()
  }

  /** @param {number} at  bytes in the arena, where a child's chaining value stands in its parent's pair */
  #promise (at) {
    const top = this.#depth++ * CV_WORDS
    for (let i = 0; i < CV_WORDS; i++) this.#promised[top + i] = u32[at / 4 + i]
  }

  /** Is the computed value the one that is promised next? In the same time whatever differs. @param {number} at  words in the arena */
  #isPromised (at) {
    const top = --this.#depth * CV_WORDS
    let difference = 0
    for (let i = 0; i < CV_WORDS; i++) difference |= this.#promised[top + i] ^ u32[at + i]
    return difference === 0
  }
}

/** Believed leaves that follow one another in the blob: pushed together in memory, they go to the sink as one. */
class Run {
  #memory
  #sink
  #start = 0
  #at = 0
  #len = 0

  /** @param {Uint8Array} memory @param {BelievedSink} sink */
  constructor (memory, sink) {
    this.#memory = memory
    this.#sink = sink
  }

  /** @param {number} start  byte offset in the blob @param {number} at  in memory @param {number} len */
  add (start, at, len) {
    // Who takes pairs wants to know which leaves stand below them.
    if (this.#sink.pair !== undefined) return this.#sink.leaf(start, this.#memory, at, len)
    if (this.#len === 0 || start !== this.#start + this.#len) {
      this.end()
      this.#start = start
      this.#at = at
    } else if (at !== this.#at + this.#len) {
      this.#memory.copyWithin(this.#at + this.#len, at, at + len)
    }
    this.#len += len
  }

  end () {
    if (this.#len > 0) this.#sink.leaf(this.#start, this.#memory, this.#at, this.#len)
    this.#len = 0
  }
}

const NOTHING = new Uint8Array(0)
