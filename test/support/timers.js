// Counts the timers that were started and have not ended.

/**
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
