// A fake endpoint of @number0/iroh that the test controls, so that the package is not needed.
import { IROH_ALPN } from '../../exchange/iroh/index.js'

/** An endpoint that accepts the connections that the test makes. */
export class FakeEndpoint {
  #queue = []
  #wake = () => {}

  async acceptNext () {
    while (this.#queue.length === 0) await new Promise(resolve => { this.#wake = resolve })
    return this.#queue.shift()
  }

  /** An incoming connection. `finish` ends its handshake, and `ask` returns the answer to a request. */
  arrive (peer, { finishes = true } = {}) {
    const arrival = { isRefused: false, isClosed: false, isServed: false }
    const requests = []
    let fail
    let take
    /** Passes a request to the code that waits for one. */
    const next = () => {
      if (take === undefined || requests.length === 0) return
      take(requests.shift())
      take = undefined
    }
    const connection = {
      alpn: () => [...new TextEncoder().encode(IROH_ALPN)],
      remoteId: () => ({ toString: () => peer }),
      setMaxConcurrentBiStreams () { arrival.isServed = true },
      acceptBi: () => new Promise((resolve, reject) => {
        fail = reject
        take = resolve
        next()
      }),
      close () {
        arrival.isClosed = true
        fail?.(new Error('closed'))
      }
    }
    const shaken = new Promise(resolve => { arrival.finish = () => resolve(connection) })
    if (finishes) arrival.finish()
    arrival.leave = () => connection.close()
    arrival.ask = bytes => new Promise((resolve, reject) => {
      const answer = []
      const send = {
        writeAll: async part => { answer.push(...part) },
        finish: async () => resolve(Uint8Array.from(answer)),
        reset: async code => reject(new Error(`reset with ${code}`)),
        stopped: async () => null
      }
      requests.push({ send, recv: { readToEnd: async () => [...bytes] } })
      next()
    })
    this.#queue.push(peer === null
      ? null
      : { accept: async () => ({ connect: () => shaken }), refuse: async () => { arrival.isRefused = true } })
    this.#wake()
    return arrival
  }
}
