/// <reference lib="esnext.disposable" />

// Types that more than one file uses.

/**
 * One of the two engines. All places are byte offsets into the arena (arena.js), multiples of 4; the key words are at
 * KEY. Counters come as the low and high 32 bits of a chunk index or output block. Sources: BLAKE3 paper 2.2 to 2.6.
 */
export interface Kernel {
  readonly name: string
  /**
   * Chaining values of `count` inputs side by side: chunks of 1024 bytes, counted upwards from the counter, the last
   * of `lastLen` bytes (1 to 1024); or, when `flags` has PARENT, pairs of 64 bytes. `table` holds a pointer to each
   * input. Table and output are used up to the next multiple of 4 inputs: after the last, pointers must be in the
   * input region, and the output has no meaning.
   */
  compressMany (
    table: number, count: number, lastLen: number, flags: number, counterLo: number, counterHi: number, out: number
  ): void
  /**
   * Joins `count` chaining values at CVS in pairs, level by level, until `downTo` or fewer are left. An odd one at
   * the end of a level moves up unchanged. Each level begins after the one below it, which takes up whole pairs.
   */
  reduce (count: number, flags: number, downTo: number): void
  /**
   * Copies `count` inputs of `len` bytes, whole blocks, from the places in the table to adjacent places. No input may
   * be where an earlier one goes.
   */
  gather (table: number, count: number, len: number, out: number): void
  /** The reverse: adjacent inputs are copied to the places in the table. None of these may be among the inputs. */
  scatter (table: number, count: number, len: number, input: number): void
  /**
   * Compares adjacent inputs from `at` on with those at the places in the table: 16 bytes at OUT, all zero when
   * equal.
   */
  compare (table: number, count: number, len: number, at: number): void
  /** The chaining value of one chunk of 0 to 1024 bytes; its last block gets `endFlags` as well. */
  compressChunk (
    input: number, len: number, flags: number, endFlags: number, counterLo: number, counterHi: number, out: number
  ): void
  /** All 64 bytes of one compression. Bytes of the block from `len` on count as zero. */
  compressBlock (
    cv: number, block: number, len: number, flags: number, counterLo: number, counterHi: number, out: number
  ): void
}

/** The eight key words from which a computation starts, and the flag of the mode. */
export interface Mode {
  readonly keyWords: Uint32Array
  readonly flags: number
}

/**
 * Names the mode in options: nothing for plain hashing, a 32-byte key for keyed hashing, a context for key
 * derivation.
 */
export interface ModeOptions {
  key?: Uint8Array
  context?: string
}

/** The last compression of a root, before it is done: the caller then says how much output it wants. */
export interface Output {
  readonly cv: Uint8Array
  readonly block: Uint8Array
  readonly blockLen: number
  readonly flags: number
}

/**
 * Takes the pairs of a growing tree in post-order. They are in the arena: copy them immediately. The last ones come
 * when the tree is closed.
 */
export interface PairSink {
  /** Pairs below this level do not come. */
  readonly groupLog: number
  /** One pair: the node number of the parent, and where its 64 bytes are. */
  pair (node: number, at: number): void
  /**
   * All pairs below a chaining value of the last reduction (window.js). `chunks` is how many chunks it covers; their
   * bytes begin at `at` in the arena.
   */
  subtree (level: number, index: number, startChunk: number, chunks: number, at: number): void
}

/** Also takes the pairs of subtrees that were hashed elsewhere. */
export interface SubtreeSink extends PairSink {
  /** Is called first. `size`: bytes of the blob, if they are known. */
  begin? (size?: number): void
  /** All pairs of a subtree, in the order that was asked for. The sink may keep `pairs`. */
  putSubtree (startChunk: number, chunks: number, pairs: Uint8Array): void
  /** Callers await it before they add more. */
  flush (): Promise<void>
}

/**
 * Takes verified leaves and pairs, in the order of the walk. Memory is borrowed until the call returns: copy what you
 * need. Hashing anything during the call throws. Without `pair`, adjacent leaves come as one.
 */
export interface VerifiedSink {
  /** @param start  byte offset in the blob; the bytes are `len` bytes of `memory` from `at` on, at least one */
  leaf (start: number, memory: Uint8Array, at: number, len: number): unknown
  /** @param at  where the pair is in the arena */
  pair? (node: number, at: number): void
  /**
   * Takes pairs like `pair`, for sinks that do not need the order: parents within subtrees that are checked as a whole
   * are left out, and adjacent leaves come as one.
   */
  parent? (node: number, at: number): void
}

/** One step of a walk. The fields are described at `Walk` (walk.js). */
export interface Step {
  kind: 'enter' | 'leaf' | 'leave' | 'subtree'
  node: number
  level: number
  start: number
  len: number
  isRoot: boolean
  isStored: boolean
  pre: number
  post: number
  hasLeft: boolean
  hasRight: boolean
}

/** A step of a walk that looks into every subtree, as `walk` does. */
export interface WalkStep extends Step {
  kind: 'enter' | 'leaf' | 'leave'
}

/** WebAssembly code under construction: bytes, nested as the instructions are (kernel/assembler.js). */
export type Code = number | Uint8Array | Code[]

/**
 * Bytes that can be read at any offset. `read` gives all bytes from `start` to `end`; offsets are bytes. After an abort
 * nobody waits for the result, so `read` may stop.
 */
export interface RandomAccess {
  readonly size: number
  /** True if reads may overlap. Then the next bytes are read while the caller works on the last ones. */
  readonly overlaps?: boolean
  /** Only files have it. It fills the buffer, and resolves to the number of bytes that it has read. */
  readInto? (buffer: Uint8Array, start: number): Promise<number>
  read (start: number, end: number, signal?: AbortSignal): Uint8Array | Promise<Uint8Array>
}

/**
 * A target that can be written at any offset, one call at a time. Offsets are bytes; memory is borrowed until the call
 * has ended.
 */
export interface RandomAccessSink {
  write (offset: number, bytes: Uint8Array): Promise<unknown> | void
  /** All bytes from `start` to `end`, as they were written. Needed where pairs must be reordered. */
  read? (start: number, end: number): Uint8Array | Promise<Uint8Array>
  /** Cuts the file off after `len` bytes. Called when an outboard was extended. */
  truncate? (len: number): Promise<unknown> | void
  /** Resolves when everything that was written survives a crash. */
  sync? (): Promise<unknown> | void
}

/** Anything that gives bytes from start to end. A string or `file:` URL is a path, in runtimes with files. */
export type Source =
  | Uint8Array
  | Blob
  | RandomAccess
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | Iterable<Uint8Array>
  | string
  | URL

export interface ProgressEvent {
  /** `baobox:hash`, `baobox:outboard`, `baobox:put`, ... */
  type: string
  /** How many of the unit are done, and their total number if it is known. */
  detail: { done: number, total?: number, unit: 'bytes' | 'blobs' | 'cids' }
}

/** Options of long calls. An abort rejects with the signal's reason. */
export interface ProgressOptions {
  signal?: AbortSignal
  onProgress?: (event: ProgressEvent) => void
}

/** How many threads hash, 1 to 256; default: `auto`, one per core if the source is long enough to gain from it. */
export interface ThreadOptions {
  threads?: 'auto' | number
}

/** A file that one thread has opened, and the facts by which other threads know that their descriptor is the same. */
export interface SharedFile {
  readonly fd: number
  readonly dev: number
  readonly ino: number
}

/** A source that several threads can read at the same time. */
export type SharedSource = { file: SharedFile } | { blob: Blob } | { bytes: Uint8Array }

/** A job for a thread: a subtree of a source, `len` bytes from `start` on. Bytes and Blobs hold only the subtree. */
export interface SpanJob {
  /** The kernel's name. */
  readonly kernel: string
  readonly mode: Mode
  /** Which pairs are wanted, if any. */
  readonly outboard?: { groupLog: number, order: 'pre' | 'post' }
  readonly start: number
  readonly len: number
  readonly source: SharedSource
}

/** The result of a `SpanJob`: the subtree's chaining value, and its pairs in the order of the job. */
export interface SpanResult {
  readonly cv: Uint8Array
  readonly pairs?: Uint8Array<ArrayBuffer>
}

/** A thread of any runtime. It keeps the process alive from its start and after `ref`, but not after `unref`. */
export interface Thread {
  /** Throws a `DataCloneError` when the message cannot be sent. */
  post (message: unknown): void
  ref (): void
  unref (): void
  end (): Promise<unknown> | void
}

export interface ThreadEvents {
  message (data: any): void
  /** It has ended and sends nothing more. May be called more than once. */
  end (cause: unknown): void
}

/** A source that is open, to be read from start to end. */
export interface OpenSource {
  /** In bytes, if it is known. */
  readonly size?: number
  /** The source for other threads, if they can read it. */
  readonly shared?: SharedSource
  /**
   * At most 1 MiB each, borrowed until the next piece. A `shared` source can be read in part and more than once; any
   * other only whole, and once. Reading begins when the first piece is asked for.
   */
  pieces (start?: number, end?: number): AsyncGenerator<Uint8Array>
  /** Keeps the source open until a promise has ended. */
  keepOpenUntil? (promise: Promise<unknown>): void
  /** Throws when the source has changed since it was opened. */
  check? (): Promise<void>
  close (): Promise<void> | void
}

/** Gives the pairs of a blob while a slice is cut. */
export interface PairSource {
  /** Copies the 64 bytes of a stored parent to `out`; false when they are missing. */
  copyPair (step: Step, out: Uint8Array, at: number): boolean
  /**
   * Copies all pairs of a perfect subtree, and returns their order. For sources that have all pairs. It and
   * `copyPair` must not hash.
   */
  copySubtree? (step: Step, out: Uint8Array, at: number): 'pre' | 'post'
}

/**
 * Like `PairReader`, for pairs that must be fetched first: callers await `prepare` with the parents whose pairs they
 * copy next.
 */
export interface PairReader extends PairSource {
  /** @param steps  the same parents, as a walk has found them, if the caller has them: that is quicker */
  prepare? (nodes: number[], steps?: Step[]): Promise<void> | void
}

/** An outboard from which slices are cut. It is a `PairReader`, or makes one for each call. */
export interface SliceOutboard extends Partial<PairReader> {
  readonly root: Uint8Array
  readonly size: number
  readonly groupLog: number
  reader? (): PairReader
}
