// Servers inside the process, honest ones and bad ones: functions that replace `fetch`.
import { encodeSliceSync } from '../../encoder/index.js'
import { ChunkRanges } from '../../lib/index.js'
import { outboardOf } from './outboards.js'

const PIECE_LEN = 40_000

/**
 * Makes a body of pieces that records whether it was cancelled.
 *
 * @param {Iterable<Uint8Array> | AsyncIterable<Uint8Array>} pieces
 */
export function streamOf (pieces) {
  const iterator = pieces[Symbol.asyncIterator]?.() ?? pieces[Symbol.iterator]()
  return new ReadableStream({
    async pull (controller) {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel () { iterator.return?.() }
  }, { highWaterMark: 0 })
}

export function * piecesOf (bytes, len = PIECE_LEN) {
  for (let at = 0; at < bytes.length; at += len) yield bytes.slice(at, at + len)
}

const never = () => new Promise(() => {})

/** Ways in which a body ends: whole, or with a fault after its first bytes. */
export const endings = {
  whole: bytes => piecesOf(bytes),
  reset: at => async function * (bytes) {
    yield * piecesOf(bytes.subarray(0, at))
    throw new TypeError('terminated')
  },
  cut: at => bytes => piecesOf(bytes.subarray(0, at)),
  /** `onStall` is called when the reader has taken all bytes before the stall. */
  stall: (at, onStall = () => {}) => async function * (bytes) {
    yield * piecesOf(bytes.subarray(0, at))
    if (bytes.length > at) onStall()
    await never()
  },
  drip: async function * (bytes) {
    for (const byte of bytes) {
      await new Promise(resolve => setTimeout(resolve, 5))
      yield Uint8Array.of(byte)
    }
  },
  endless: function * (bytes) {
    yield * piecesOf(bytes)
    while (true) yield new Uint8Array(PIECE_LEN)
  },
  flip: at => bytes => {
    const wrong = bytes.slice()
    if (at < wrong.length) wrong[at] ^= 1
    return piecesOf(wrong)
  }
}

/**
 * Serves a plain file. `headers` gets the headers of a good answer, and returns those to send.
 *
 * @param {Uint8Array} bytes
 * @param {{ ranges?: boolean, headers?: (headers: object, range?: [number, number]) => object, ending?: Function,
 *   status?: number }} [how]
 */
export const file = (bytes, how = {}) => request => {
  const { ranges = true, headers = own => own, ending = endings.whole, status } = how
  const [, first, last] = (ranges && request.headers.get('range')?.match(/^bytes=(\d+)-(\d*)$/)) || []
  if (first === undefined) {
    const own = { 'content-length': `${bytes.length}` }
    return new Response(streamOf(ending(bytes)), { status: status ?? 200, headers: headers(own) })
  }
  const end = Math.min(last === '' ? Infinity : Number(last) + 1, bytes.length)
  if (Number(first) >= bytes.length) {
    return new Response(null, { status: 416, headers: headers({ 'content-range': `bytes */${bytes.length}` }) })
  }
  const part = bytes.subarray(Number(first), end)
  const own = { 'content-length': `${part.length}`, 'content-range': `bytes ${first}-${end - 1}/${bytes.length}` }
  const range = [Number(first), end]
  return new Response(streamOf(ending(part)), { status: status ?? 206, headers: headers(own, range) })
}

/**
 * Serves as a Bao endpoint.
 *
 * @param {Uint8Array} bytes @param {{ ending?: Function, header?: number, old?: boolean }} [how]
 */
export function endpoint (bytes, { ending = endings.whole, size } = {}) {
  return ({ url, headers }) => {
    const query = url.searchParams
    const groupLog = Number(query.get('group-log') ?? 4)
    const slice = encodeSliceSync(bytes, outboardOf(bytes, groupLog), rangesIn(query))
    if (size !== undefined) new DataView(slice.buffer).setBigUint64(slice.byteOffset, BigInt(size), true)
    if (!headers.get('accept')?.startsWith('application/vnd.bao-slice')) return new Response('what?', { status: 406 })
    const type = `application/vnd.bao-slice; group-log=${groupLog}`
    return new Response(streamOf(ending(slice)), { headers: { 'content-type': type } })
  }
}

export function rangesIn (query) {
  const chunks = query.get('chunks')
  if (chunks !== null) {
    return ChunkRanges.fromBoundaries(chunks.split(/[-,]/).filter(text => text !== '').map(Number))
  }
  const [start, end] = [query.get('start'), query.get('end')]
  return { start: Number(start ?? 0), end: end === null ? Infinity : Number(end) }
}

export const status = (code, headers) => () => new Response('no', { status: code, headers })
export const unreachable = () => { throw new TypeError('fetch failed') }
export const silent = () => never()

/**
 * Makes a `fetch` for some servers. A server that throws is a connection that fails.
 *
 * @param {Record<string, (request: { url: URL, headers: Headers }) => Response | Promise<Response>>} routes  by URL
 *   without query; others are 404
 */
export function fetchOf (routes) {
  const requests = []
  const fetch = async (input, { headers, signal } = {}) => {
    const url = new URL(input)
    signal?.throwIfAborted()
    const request = { url, headers: new Headers(headers) }
    requests.push({ url: url.href, range: request.headers.get('range'), headers: request.headers })
    const answer = routes[url.origin + url.pathname]
    return answer === undefined ? new Response('not found', { status: 404 }) : answer(request)
  }
  return Object.assign(fetch, { requests })
}
