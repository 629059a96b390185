// A bucket in memory for several processes, with a clock that tests set, whose requests fail as the tests say.
import { BaoError } from '../../../lib/core/errors.js'
import { yieldToEventLoop } from '../../../lib/source/async-util.js'
import { memoryBucket } from '../../../exchange/bucket/index.js'

/**
 * - `refuse`: nothing happens, and the call fails
 * - `lose`: the answer is lost, and the call fails
 * - `again`: the first answer is lost, and the call asks again, as `s3` does
 * - `late`: the call fails, and the request takes effect at `settle()`
 * - `stop`: nothing happens, and every later request of this process fails, too
 * - `stopAfter`: the same, but the request takes effect
 *
 * @typedef {'refuse' | 'lose' | 'again' | 'late' | 'stop' | 'stopAfter'} Fault
 */

const CALLS = ['get', 'head', 'put', 'putParts', 'delete', 'list']
const WRITES = ['put', 'putParts', 'delete']

const failed = () => new BaoError('BUCKET_FAILED', 'the request has failed', { location: 'memory' })
const unknown = () => new BaoError('BUCKET_UNKNOWN', 'the answer is lost', { location: 'memory' })

export class SharedBucket {
  #bucket = memoryBucket()
  #times = new Map()
  #late = []
  /** The time of the bucket, in milliseconds since 1970. */
  now = Date.now()

  /** The bucket as a process sees it that has no faults. */
  get direct () { return this.process().bucket }

  /**
   * The bucket as one process sees it.
   *
   * @param {(request: { number: number, call: string, key: string }) => Fault | undefined} [faultFor]  `number`: from 1
   * @param {() => number} [turns]  for how many turns of the event loop a request is under way
   * @returns {{ bucket: import('../../../exchange/bucket/bucket.js').Bucket, count: () => number }}
   */
  process (faultFor = () => undefined, turns = () => 0) {
    let number = 0
    let isStopped = false
    const begin = (call, key) => {
      if (isStopped) throw failed()
      const fault = faultFor({ number: ++number, call, key })
      isStopped = fault === 'stop' || fault === 'stopAfter'
      return fault
    }
    const shared = this
    const bucket = new Proxy(this.#bucket, {
      get (target, name) {
        if (name === 'lastAnswer') return new Date(shared.now)
        if (!CALLS.includes(name)) return typeof target[name] === 'function' ? target[name].bind(target) : target[name]
        if (name === 'list') return (prefix, ...rest) => shared.#list(() => begin(name, prefix), [prefix, ...rest])
        return async (...args) => {
          for (let left = turns(); left > 0; left--) await yieldToEventLoop()
          return shared.#ask(name, args, begin(name, args[0]))
        }
      }
    })
    return { bucket, count: () => number }
  }

  /** Requests that are late take effect. */
  async settle () { for (const act of this.#late.splice(0)) await act() }

  async #ask (call, args, fault) {
    if (fault === 'refuse' || fault === 'stop') throw failed()
    const isWrite = WRITES.includes(call)
    const body = call === 'putParts' ? await gathered(args[1]) : args[1]
    const act = async () => {
      if (call === 'put' || call === 'putParts') return this.#put(call, args[0], body, args[2])
      return this.#withTime(args[0], await this.#bucket[call](...args))
    }
    if (fault === 'late') {
      // The process may have ended by then.
      const later = call === 'delete' ? [args[0]] : [args[0], body, { ...args[2], signal: undefined }]
      if (isWrite) this.#late.push(() => this.#ask(call, later))
      throw isWrite ? unknown() : failed()
    }
    const result = await act()
    if (fault === 'again') return act()
    if (fault === 'lose' || fault === 'stopAfter') throw isWrite ? unknown() : failed()
    return result
  }

  async #put (call, key, body, options) {
    const result = call === 'put'
      ? await this.#bucket.put(key, body, options)
      : await this.#bucket.putParts(key, body, options)
    if (result.isWritten !== false) this.#times.set(key, this.now)
    return result
  }

  #withTime (key, info) { return info && { ...info, modified: new Date(this.#times.get(key) ?? this.now) } }

  async * #list (begin, args) {
    const fault = begin()
    await undefined
    if (fault !== undefined && fault !== 'again') throw failed()
    for await (const object of this.#bucket.list(...args)) yield this.#withTime(object.key, object)
  }
}

async function gathered (source) {
  const pieces = []
  for await (const piece of source) pieces.push(new Uint8Array(piece))
  return pieces
}
