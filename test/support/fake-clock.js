// A clock whose time passes while the process is idle, so that waits of minutes take no time in tests.

const isDeno = globalThis.process?.versions.deno !== undefined
const isWorkerd = globalThis.navigator?.userAgent === 'Cloudflare-Workers'
/** Idle turns of the event loop before time passes. */
const IDLE_TURNS = isDeno ? 5 : 30

/** Lets the event loop run once. In Deno and workerd this takes a timer: messages would overtake other work. */
export const turn = () => new Promise(resolve => {
  if (isDeno || isWorkerd) {
    setTimeout(resolve, 0)
    return
  }
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => {
    port1.close()
    resolve()
  }
  port2.postMessage(null)
})

/** Lets the event loop run many times: more often than a call needs that only works in memory. */
export const turns = async (count = 100) => { for (let i = 0; i < count; i++) await turn() }

export class FakeClock {
  #now = 0
  #sleepers = new Set()

  /** How many calls of `sleep` are waiting. */
  get sleepers () { return this.#sleepers.size }

  now = () => this.#now

  sleep = (ms, signal) => new Promise((resolve, reject) => {
    const sleeper = {
      at: this.#now + ms,
      resolve () {
        signal?.removeEventListener('abort', end)
        resolve()
      }
    }
    this.#sleepers.add(sleeper)
    const end = () => {
      this.#sleepers.delete(sleeper)
      reject(signal.reason)
    }
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end, { once: true })
  })

  /** Lets time pass until a promise is settled. */
  async until (promise) {
    const state = { isSettled: false }
    const settle = () => { state.isSettled = true }
    promise.then(settle, settle)
    while (!state.isSettled) {
      for (let i = 0; i < IDLE_TURNS && !state.isSettled; i++) await turn()
      const [next] = [...this.#sleepers].sort((a, b) => a.at - b.at)
      if (state.isSettled || next === undefined) continue
      this.#sleepers.delete(next)
      this.#now = Math.max(this.#now, next.at)
      next.resolve()
    }
    return promise
  }
}
