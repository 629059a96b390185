// Helpers for promises and loops. With them, an abort ends a wait immediately, and long loops yield to the event loop.

/**
 * Milliseconds of work after which a loop yields to the event loop, so that timers, aborts and the screen do not wait.
 */
export const YIELD_INTERVAL_MS = 12

/**
 * Waits for a promise. If the signal aborts, it throws the signal's reason immediately.
 *
 * @template T
 * @param {T | Promise<T>} promise
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export async function untilAborted (promise, signal) {
  if (signal === undefined) return promise
  if (signal.aborted) {
    Promise.resolve(promise).catch(() => {}) // Nobody waits for the promise any longer, so its failure is handled here.
    throw signal.reason
  }
  let onAbort = () => {}
  const aborted = new Promise((_resolve, reject) => { onAbort = () => reject(signal.reason) })
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([promise, /** @type {Promise<never>} */ (aborted)])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/**
 * Waits for several promises. If one of them rejects, still waits for the others, so that no work is under way when the
 * caller gets the failure.
 *
 * @template {unknown[]} T @param {[...T]} underWay @returns {Promise<{ [I in keyof T]: Awaited<T[I]> }>}
 */
export async function allOf (underWay) {
  await Promise.allSettled(underWay)
  return Promise.all(underWay)
}

/**
 * The two signals of each result of `eitherOf`, which must live as long as it. `AbortSignal.any` refers to them weakly:
 * Node.js 20 then collects a signal of `AbortSignal.timeout`, and Node.js 22 one of `AbortSignal.any`, and what was
 * made of them never aborts.
 *
 * @type {WeakMap<AbortSignal, AbortSignal[]>}
 */
const SIGNALS = new WeakMap()

/**
 * Returns a signal that aborts when one of two signals aborts. Use it in place of `AbortSignal.any`.
 *
 * @template {AbortSignal | undefined} S
 * @param {AbortSignal | undefined} given  the signal of the caller
 * @param {S} own  the signal of the callee
 * @returns {AbortSignal | S}
 */
export function eitherOf (given, own) {
  if (given === undefined || own === undefined) return given ?? own
  const signals = [given, own]
  const either = AbortSignal.any(signals)
  SIGNALS.set(either, signals)
  return either
}

/**
 * Yields the items of an iterable until the signal aborts. Then it ends immediately: it tells the iterable to end, but
 * does not wait until it has ended.
 *
 * @template T
 * @param {AsyncIterable<T> | Iterable<T>} iterable
 * @param {AbortSignal} [signal]
 * @param {(next: Promise<unknown>) => Promise<boolean>} [isSoon]  called before each wait; if it resolves to false,
 *   `undefined` is yielded before the item
 * @returns {AsyncGenerator<T>}
 */
export async function * abortable (iterable, signal, isSoon) {
  const iterator = iteratorOf(iterable)
  let isAtEnd = false
  let isWaiting = false
  try {
    while (true) {
      isWaiting = true
      const coming = Promise.resolve(iterator.next())
      if (isSoon !== undefined && !await isSoon(coming)) yield /** @type {T} */ (undefined)
      const next = await untilAborted(coming, signal)
      isWaiting = false
      isAtEnd = next.done === true
      if (next.done) return
      yield next.value
    }
  } finally {
    const ending = isAtEnd ? undefined : endIterator(iterator)
    if (!isWaiting && !signal?.aborted) await ending // If the source is stuck, this wait would never end.
  }
}

/**
 * Yields an item that was taken already, and then the rest. A generator that does so would not end the rest if it is
 * ended before its first item is taken.
 *
 * @template T
 * @param {IteratorResult<T, void>} first @param {AsyncGenerator<T, void>} rest
 * @returns {AsyncGenerator<T, void>}
 */
export function withFirst (first, rest) {
  let isTaken = false
  /** @type {any} */
  const all = {
    async next () {
      if (isTaken) return rest.next()
      isTaken = true
      return first
    },
    return: () => rest.return(),
    throw: (/** @type {unknown} */ error) => rest.throw(error),
    [Symbol.asyncIterator] () { return all },
    async [Symbol.asyncDispose] () { await rest.return() }
  }
  return all
}

/** Ends an iterable before anything was read. @param {AsyncIterable<unknown> | Iterable<unknown>} iterable */
export async function cancelIterable (iterable) {
  try {
    await endIterator(iteratorOf(iterable))
  } catch {} // another reader has locked it
}

/** @param {AsyncIterator<unknown> | Iterator<unknown>} iterator */
async function endIterator (iterator) {
  try {
    await iterator.return?.()
  } catch {} // the items are no longer needed, so a failure does not matter
}

/** @template T @param {AsyncIterable<T> | Iterable<T>} iterable @returns {AsyncIterator<T> | Iterator<T>} */
const iteratorOf = iterable =>
  Symbol.asyncIterator in iterable ? iterable[Symbol.asyncIterator]() : iterable[Symbol.iterator]()

/**
 * Passes on pieces, and yields to the event loop every few milliseconds. Otherwise, pieces that are already in memory
 * would block timers and delay aborts.
 *
 * @param {AsyncIterable<Uint8Array>} pieces
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Uint8Array>}
 */
export async function * withYields (pieces, signal) {
  const yieldWhenDue = createYielder(signal)
  for await (const piece of pieces) {
    yield piece
    await yieldWhenDue()
  }
}

/**
 * Makes a function that a loop awaits in every round. It yields to the event loop when the last yield was long enough
 * ago, and throws when the signal has aborted.
 *
 * @param {AbortSignal} [signal]
 * @returns {() => Promise<void> | undefined}
 */
export function createYielder (signal) {
  let since = performance.now()
  const yieldNow = async () => {
    await yieldToEventLoop()
    since = performance.now()
    signal?.throwIfAborted()
  }
  return () => {
    signal?.throwIfAborted()
    return performance.now() - since < YIELD_INTERVAL_MS ? undefined : yieldNow()
  }
}

/** In Workers (workerd), messages overtake timers. */
const isWorkerd = globalThis.navigator?.userAgent === 'Cloudflare-Workers'

/** Sends a message to this thread, and waits for it. @returns {Promise<void>} */
const receiveMessage = () => new Promise(resolve => {
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => {
    port1.close()
    resolve()
  }
  port2.postMessage(null)
})

/**
 * Lets the event loop run once. (In browsers, a timer would wait four milliseconds.)
 *
 * @type {() => Promise<void>}
 */
export const yieldToEventLoop = typeof setImmediate === 'function'
  ? () => new Promise(resolve => { setImmediate(resolve) })
  : isWorkerd ? () => new Promise(resolve => { setTimeout(resolve) }) : receiveMessage
