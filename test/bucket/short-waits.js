// A clock for buckets on this machine, where everything is near: waits between tries become a hundredth.

/** @type {import('../../verifier/mirrors/patience.js').Clock} */
export const SHORT_WAITS = {
  now: () => performance.now(),
  sleep: (ms, signal) => new Promise((resolve, reject) => {
    // Time limits stay: they are 15 s, or a quarter of that.
    const timer = setTimeout(resolve, ms >= 15_000 || ms === 3750 ? ms : ms / 100)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    }, { once: true })
  })
}
