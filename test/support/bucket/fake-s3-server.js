// A server of S3 in this process, with one bucket called `bucket`: FakeS3 behind a port. Pages of all origins may read.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { concat } from '../bytes.js'
import { FakeS3, errorXml } from './fake-s3.js'

/** The variables with which programs may use it. */
export const KEYS = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' }

export class FakeS3Server {
  fake = new FakeS3()
  /** True for keys whose requests are refused. @type {(key: string) => boolean} */
  refuses = () => false
  #server = createServer((request, response) => this.#answer(request, response))

  async start () {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    this.endpoint = `http://127.0.0.1:${this.#server.address().port}`
  }

  stop () {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #answer (request, response) {
    const url = new URL(request.url, this.endpoint)
    const { method } = request
    const body = concat(await request.toArray())
    const key = decodeURIComponent(url.pathname.replace(/^\/bucket\/?/, ''))
    const headers = new Headers(request.headers)
    this.fake.requests.push(`${method} ${request.url}`)
    const isSigned = headers.has('authorization') || url.searchParams.has('X-Amz-Signature')
    const answer = this.refuses(key) || !isSigned
      ? errorXml(403, 'AccessDenied')
      : this.fake.answer({ method, key, query: url.searchParams, headers, body })
    response.writeHead(answer.status, { ...Object.fromEntries(answer.headers), 'access-control-allow-origin': '*' })
    response.end(method === 'HEAD' ? undefined : new Uint8Array(await answer.arrayBuffer()))
  }
}
