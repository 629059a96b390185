// Shapes that more than one file speaks of.

/**
 * One of the two engines. All places are byte offsets into the arena (arena.js), multiples of 4; key words stand at KEY.
 * Counters come as the low and high 32 bits of a chunk index or output block. Sources: BLAKE3 paper 2.2 to 2.6.
 */
export interface Kernel {
  readonly name: string
  /**
   * Chaining values of `count` inputs side by side: chunks of 1024 bytes, counted upwards from the counter, the last of `lastLen` bytes
   * (1 to 1024); or, when `flags` has PARENT, pairs of 64 bytes. `table` holds a pointer to each input. Table and output are used up to
   * the next multiple of 4 inputs: behind the last, pointers must lie in the input region, and what is written has no meaning.
   */
  compressMany (table: number, count: number, lastLen: number, flags: number, counterLo: number, counterHi: number, out: number): void
  /**
   * Joins `count` chaining values at CVS in pairs, level by level, until `downTo` or fewer are left. The odd one at the end of a level moves
   * up as it is. Each level begins behind the one below it, which takes up whole pairs.
   */
  reduce (count: number, flags: number, downTo: number): void
  /**
   * Brings `count` inputs of `len` bytes together, whole blocks, from the places that the table names. None may stand where one before it goes.
   */
  gather (table: number, count: number, len: number, out: number): void
  /** The other way round: inputs that stand together go to the places that the table names. None of these may be among the inputs. */
  scatter (table: number, count: number, len: number, input: number): void
  /** Compares inputs that stand together from `at` on with those that the table names: 16 bytes at OUT, all zero when they are the same. */
  compare (table: number, count: number, len: number, at: number): void
  /** The chaining value of one chunk of 0 to 1024 bytes; its last block gets `endFlags` as well. */
  compressChunk (input: number, len: number, flags: number, endFlags: number, counterLo: number, counterHi: number, out: number): void
  /** All 64 bytes that one compression gives. Bytes of the block from `len` on count as zero. */
  compressBlock (cv: number, block: number, len: number, flags: number, counterLo: number, counterHi: number, out: number): void
}

/** What a computation starts from: the eight key words, and the flag of the mode. */
export interface Mode {
  readonly keyWords: Uint32Array
  readonly flags: number
}

/** Names the mode in options: nothing for plain hashing, a 32-byte key for keyed hashing, a context for key derivation. */
export interface ModeOptions {
  key?: Uint8Array
  context?: string
}

/** One compression that has not been done yet: the root, before it is known how much output is wanted. */
export interface Output {
  readonly cv: Uint8Array
  readonly block: Uint8Array
  readonly blockLen: number
  readonly flags: number
}

/** Takes the pairs of a growing tree in post-order. They stand in the arena, and are to be copied at once. The last ones come when the tree is closed. */
export interface PairSink {
  /** Pairs below this level are not handed out. */
  readonly groupLog: number
  /** One pair: the parent's in-order number, and where its 64 bytes stand. */
  pair (node: number, at: number): void
  /**
   * All pairs below a chaining value of the last reduction (window.js), which has so many chunks below it. Their bytes stand in the arena from
   * `at` on.
   */
  subtree (level: number, index: number, startChunk: number, chunks: number, at: number): void
}

/**
 * Takes what a verification found right, in the order of the walk. Memory is only lent: copy at once. Hashing
 * anything meanwhile throws.
 * Without `pair`, leaves that follow one another come as one.
 */
export interface VerifiedSink {
  /** @param start  byte offset in the blob; its bytes are `len` bytes of `memory` from `at` on; never none */
  leaf (start: number, memory: Uint8Array, at: number, len: number): unknown
  /** @param at  where in the arena the pair stands */
  pair? (node: number, at: number): void
  /** The same for who does not mind the order: parents within subtrees that are checked as a whole are left out, and leaves come as one. */
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
 * Bytes that can be read at any place. `read` gives the bytes from `start` up to `end`, all of them; offsets are bytes. After an abort nobody
 * waits for it any more, so it may as well give up.
 */
export interface RandomAccess {
  readonly size: number
  /** May it be asked for more before it has answered? Then it is, while what it gave is being worked on. */
  readonly overlaps?: boolean
  /** Of files: fills memory of the reader, and says how many bytes there were. */
  readInto? (buffer: Uint8Array, start: number): Promise<number>
  read (start: number, end: number, signal?: AbortSignal): Uint8Array | Promise<Uint8Array>
}

/** Where bytes can be written at any place. There is one call at a time; offsets are bytes, and memory is lent until the call has ended. */
export interface RandomAccessSink {
  write (offset: number, bytes: Uint8Array): Promise<unknown> | void
  /** The bytes from `start` up to `end`, all of them, as they were written. Needed where pairs must be turned. */
  read? (start: number, end: number): Uint8Array | Promise<Uint8Array>
  /** Cuts off what stands behind so many bytes. Asked for when an outboard has been appended to. */
  truncate? (len: number): Promise<unknown> | void
  /** Ends when what was written will stay, whatever happens. */
  sync? (): Promise<unknown> | void
}

/** Anything that bytes can be taken from, start to end. A string or `file:` URL is a path, where there are files. */
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
  /** In bytes; `total` when it is known. */
  detail: { done: number, total?: number }
}

/** What long calls take. An abort rejects with the signal's reason. */
export interface ProgressOptions {
  signal?: AbortSignal
  onProgress?: (event: ProgressEvent) => void
}

/** How many threads hash: `auto`, unless told, is as many as there are cores where the source is long enough to gain from it. */
export interface ThreadOptions {
  threads?: 'auto' | number
}

/** A file that one thread has opened, and how others know that they mean the same. */
export interface SharedFile {
  readonly fd: number
  readonly dev: number
  readonly ino: number
}

/** What several threads can read at the same time. */
export type SharedSource = { file: SharedFile } | { blob: Blob } | { bytes: Uint8Array }

/** What a thread is asked: a subtree of a source, `len` bytes from `start` on. Bytes and Blobs are those of the subtree alone. */
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

/** What it answers: the subtree's chaining value, and its pairs in the order that was asked for. */
export interface SpanResult {
  readonly cv: Uint8Array
  readonly pairs?: Uint8Array<ArrayBuffer>
}

/** A thread, whatever the runtime calls it. It keeps the process alive after `ref`, as from its start, and no more after `unref`. */
export interface Thread {
  /** Throws a `DataCloneError` when the message cannot be sent. */
  post (message: unknown): void
  ref (): void
  unref (): void
  end (): Promise<unknown> | void
}

export interface ThreadEvents {
  message (data: any): void
  /** It will not say anything more. May come more than once. */
  end (cause: unknown): void
}

/** A source that is about to be read from start to end. */
export interface OpenSource {
  /** In bytes, when the source tells. */
  readonly size?: number
  /** The source for other threads, where these can have it. */
  readonly shared?: SharedSource
  /**
   * At most 1 MiB each, lent until the next one is asked for. Where the source is `shared`, also those between two bytes, and again; else
   * all, and once. Nothing is read before the first is asked for.
   */
  pieces (start?: number, end?: number): AsyncGenerator<Uint8Array>
  /** Keeps the source open until a promise has ended. */
  keepOpenUntil? (promise: Promise<unknown>): void
  /** Throws when the source has changed since it was opened. */
  check? (): Promise<void>
  close (): Promise<void> | void
}

/** Where the pairs of a blob are at hand while a slice is cut. */
export interface PairSource {
  /** Copies the 64 bytes of a stored parent to `out`; false when they are not there. */
  copyPair (step: Step, out: Uint8Array, at: number): boolean
  /** Copies all pairs of a perfect subtree at once, and says in which order. For those who have them all. Neither this nor `copyPair` may hash then. */
  copySubtree? (step: Step, out: Uint8Array, at: number): 'pre' | 'post'
}

/** The same where they must be fetched first: `prepare` is awaited with the parents whose pairs are copied next. */
export interface PairReader extends PairSource {
  prepare? (nodes: number[]): Promise<void> | void
}

/** What a slice is cut from, beside the bytes: an outboard that is a `PairReader`, or one that makes a reader for whoever asks. */
export interface SliceOutboard extends Partial<PairReader> {
  readonly root: Uint8Array
  readonly size: number
  readonly groupLog: number
  reader? (): PairReader
}
