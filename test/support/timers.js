// Counts the timers that are begun and not ended.

/**
 * @param {'Timeout' | 'Interval'} kind
 * @param {(timers: Set<unknown>) => Promise<void>} run  `timers`: those that are begun while it runs, and not ended
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
