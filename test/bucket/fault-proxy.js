// A proxy in front of a store that loses, delays and changes requests and answers. It keeps the Host header, so that
// signatures stay right.
import http from 'node:http'

/**
 * What the proxy does to one request.
 *
 * - `refuse`: breaks the connection; the store never gets the request
 * - `lose`: lets the store answer, and breaks the connection
 * - `late`: breaks the connection, and sends the request to the store `lateMs` later
 * - `500`, `503`: answers so in place of the store, 503 with Retry-After
 * - `502`: lets the store answer, and answers 502
 * - `cut`: breaks the connection in the middle of the body of the answer
 * - `shift`: asks the store for a range that begins a byte later
 * - `whole`: asks the store for the whole object in place of a range
 * - `stale`: answers with the answer to the first request that had the same URL
 * - `created`: answers 200 where the store has answered 412
 *
 * @typedef {'refuse' | 'lose' | 'late' | '500' | '502' | '503' | 'cut' | 'shift' | 'whole' | 'stale' | 'created'} Fault
 */

const RANGE = /^bytes=(\d+)-(\d*)$/

export class FaultProxy {
  #server
  #target
  #first = new Map()
  #late = new Set()
  /** How often each fault was made. */
  counts = new Map()
  /** Decides what happens to a request. @type {(request: http.IncomingMessage) => Fault | undefined} */
  faultFor = () => undefined
  lateMs = 50

  /** @param {string} target  the URL of the store */
  constructor (target) {
    this.#target = new URL(target)
    this.#server = http.createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy())
    })
  }

  /** @returns {Promise<string>} the URL of the proxy */
  async listen () {
    await new Promise(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${this.#server.address().port}`
  }

  /** Waits for the requests that are late, and ends. */
  async close () {
    await this.settle()
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  /** Waits until all requests that are late have reached the store. */
  async settle () { while (this.#late.size > 0) await Promise.allSettled([...this.#late]) }

  async #handle (request, response) {
    const pieces = []
    for await (const piece of request) pieces.push(piece)
    const body = Buffer.concat(pieces)
    const fault = this.faultFor(request)
    if (fault !== undefined) this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1)
    if (fault === 'refuse') return response.destroy()
    if (fault === 'late') {
      response.destroy()
      const sent = new Promise(resolve => setTimeout(resolve, this.lateMs)).then(() => this.#ask(request, body))
      this.#late.add(sent)
      sent.catch(() => {}).finally(() => this.#late.delete(sent))
      return
    }
    if (fault === '500' || fault === '503') {
      response.writeHead(Number(fault), fault === '503' ? { 'retry-after': '1' } : {})
      return response.end('<Error><Code>SlowDown</Code></Error>')
    }
    const answer = await this.#ask(request, body, fault)
    const place = `${request.method} ${request.url}`
    if (!this.#first.has(place)) this.#first.set(place, answer)
    if (fault === 'lose') return response.destroy()
    if (fault === '502') return response.writeHead(502).end('<html>bad gateway</html>')
    this.#send(response, fault === 'stale' ? this.#first.get(place) : answer, fault)
  }

  #send (response, { status, headers, body }, fault) {
    response.writeHead(fault === 'created' && status === 412 ? 200 : status, headers)
    if (fault !== 'cut' || body.length === 0) return response.end(body)
    response.write(body.subarray(0, body.length >> 1), () => response.destroy())
  }

  /** Asks the store. @returns {Promise<{ status: number, headers: string[], body: Buffer }>} */
  #ask (request, body, fault) {
    const { hostname, port } = this.#target
    const headers = { ...request.headers }
    const [, start, end] = RANGE.exec(headers.range ?? '') ?? []
    if (fault === 'whole') delete headers.range
    if (fault === 'shift' && start !== undefined) headers.range = `bytes=${Number(start) + 1}-${end}`
    return new Promise((resolve, reject) => {
      const asking = http.request({ hostname, port, method: request.method, path: request.url, headers }, answer => {
        const pieces = []
        answer.on('data', piece => pieces.push(piece))
        answer.on('error', reject)
        answer.on('end', () => {
          resolve({ status: answer.statusCode, headers: answer.rawHeaders, body: Buffer.concat(pieces) })
        })
      })
      asking.on('error', reject)
      asking.end(body)
    })
  }
}
