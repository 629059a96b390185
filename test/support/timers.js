// Timers as tests need them: counted, or held.

/**
 * Counts the timers that are begun and not ended.
 *
 * @param {'Timeout' | 'Interval'} kind
 * @param {(timers: Set<unknown>) => Promise<void>} run  `timers`: timers that were started during `run`, and have not
 *   ended
 */
export async function withTimers (kind, run) {
  const { [`set${kind}`]: set, [`clear${kind}`]: clear } = globalThis
  const timers = new Set()
  globalThis[`set${kind}`] = (...args) => {
    const timer = set(...args)
    timers.add(timer)
    return timer
  }
  globalThis[`clear${kind}`] = timer => {
    timers.delete(timer)
    clear(timer)
  }
  try {
    await run(timers)
  } finally {
    Object.assign(globalThis, { [`set${kind}`]: set, [`clear${kind}`]: clear })
  }
}

/**
 * Holds the timeouts of so many milliseconds: they end when the test says so. All others go on by the clock.
 *
 * @param {number} ms
 * @param {(end: () => void) => Promise<void>} run  `end` ends those that are held
 */
export async function withTimeoutsHeld (ms, run) {
  const { setTimeout, clearTimeout } = globalThis
  const held = new Map()
  globalThis.setTimeout = (act, after, ...args) => {
    if (after !== ms) return setTimeout(act, after, ...args)
    const timer = {}
    held.set(timer, act)
    return timer
  }
  globalThis.clearTimeout = timer => { if (!held.delete(timer)) clearTimeout(timer) }
  try {
    await run(() => {
      for (const [timer, act] of [...held]) {
        held.delete(timer)
        act()
      }
    })
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout })
  }
}
