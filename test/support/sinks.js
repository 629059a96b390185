// A sink in memory that is as strict as its contract allows.
import { expect } from 'chai'

/** `bytes` has the written bytes; `writes` and `reads` count calls. */
export class MemorySink {
  bytes = new Uint8Array(0)
  writes = []
  reads = []
  syncs = 0
  #isBusy = false
  #onWrite

  /**
   * @param {{ bytes?: Uint8Array, canRead?: boolean, onWrite?: (offset: number, bytes: Uint8Array) => unknown
   * }} [options]
   */
  constructor ({ bytes, canRead = true, onWrite = () => {} } = {}) {
    if (bytes) this.bytes = bytes.slice()
    if (!canRead) this.read = undefined
    this.#onWrite = onWrite
  }

  async write (offset, bytes) {
    await this.#alone(async () => {
      await this.#onWrite(offset, bytes)
      if (offset + bytes.length > this.bytes.length) {
        const longer = new Uint8Array(offset + bytes.length)
        longer.set(this.bytes)
        this.bytes = longer
      }
      this.bytes.set(bytes, offset)
      this.writes.push([offset, bytes.length])
    })
  }

  read = (start, end) => this.#alone(async () => {
    this.reads.push([start, end])
    return this.bytes.slice(start, end)
  })

  sync = () => this.#alone(async () => { this.syncs++ })

  /** Allows one call at a time. */
  async #alone (action) {
    expect(this.#isBusy, 'two calls at the same time').to.equal(false)
    this.#isBusy = true
    await new Promise(resolve => setTimeout(resolve))
    const result = await action()
    this.#isBusy = false
    return result
  }
}
