// Servers that lie, to VerifiedReader over httpSource and to fetchVerified: wrong bytes, wrong answers,
// answers that break off or never end.
import { Outboard, createOutboardSync } from '../../../encoder/index.js'
import { VerifiedReader, fetchVerified, httpSource } from '../../../verifier/index.js'
import { concat, header, same } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { Bao } from '../../support/twin/index.js'
import { siblingOf, someBlob, someGroupLog } from '../cases.js'
import { expectCode, expectThat } from '../finding.js'
import { oneFlipped } from '../mutations.js'
import { spoilt } from './readers.js'

/** @import { Random } from '../random.js' */

const CODES = [
  'BAO_PARENT_MISMATCH', 'BAO_LEAF_MISMATCH', 'BAO_TRUNCATED', 'BAO_SIZE_TOO_LARGE', 'BAO_BAD_HEADER',
  'FETCH_FAILED', 'FETCH_STATUS', 'FETCH_CHANGED', 'FETCH_REFUSED'
]

/** What an answer says in its headers that is not so. @type {Record<string, (random: Random, answer: any) => void>} */
const SAYS = {
  status: (random, answer) => { answer.status = random.pick([200, 201, 206, 404, 416, 500]) },
  range: (random, answer) => {
    answer.headers['content-range'] = random.pick([
      'bytes 0-0/1', 'bytes */5', 'bytes 5-4/9', 'bytes 0-99999999999999999999/5', 'x',
    `bytes ${answer.start + 1}-${answer.end}/${answer.size}`,
    `bytes ${answer.start}-${answer.end - 1}/${random.claim(answer.size)}`
    ])
  },
  noRange: (_random, answer) => { delete answer.headers['content-range'] },
  length: (random, answer) => { answer.headers['content-length'] = String(random.claim(answer.end - answer.start)) },
  etag: (random, answer) => { answer.headers.etag = `"${random.below(3)}"` },
  encoding: (_random, answer) => { answer.headers['content-encoding'] = 'gzip' },
  whole (_random, answer) {
    answer.status = 200
    delete answer.headers['content-range']
    answer.start = 0
    answer.end = answer.size
  }
}

/** A server of some bytes, and what it has given so far. @param {Random} random @param {Uint8Array} bytes */
function server (random, bytes) {
  const lies = random.pick([0, 0, 1, 2])
  const at = random.below(3)
  const given = { requests: 0, bytes: 0 }
  const fetch = async (url, { headers, signal } = {}) => {
    signal?.throwIfAborted()
    const isNow = given.requests++ >= at
    if (given.requests > 2000) throw new Error('no end of requests')
    const [, from, to] = new Headers(headers).get('range')?.match(/bytes=(\d+)-(\d*)/) ?? []
    const start = Math.min(Number(from ?? 0), bytes.length)
    const end = Math.min(to === undefined || to === '' ? bytes.length : Number(to) + 1, bytes.length)
    const answer = {
      status: from === undefined ? 200 : start < bytes.length ? 206 : 416,
      start,
      end,
      size: bytes.length,
      headers: {
        etag: '"1"',
        ...from === undefined
          ? {}
          : {
              'content-range': start < bytes.length
                ? `bytes ${start}-${end - 1}/${bytes.length}`
                : `bytes */${bytes.length}`
            }
      }
    }
    if (isNow) for (let count = lies; count > 0; count--) SAYS[random.pick(Object.keys(SAYS))](random, answer)
    answer.headers['content-length'] ??= String(answer.end - answer.start)
    const manner = isNow
      ? random.weighted(
        { good: 10, flip: 2, short: 2, long: 1, endless: 1, breaks: 2, refuses: 1 }
      )
      : 'good'
    if (manner === 'refuses') throw new TypeError('fetch failed')
    let body = bytes.subarray(answer.start, answer.end)
    if (manner === 'flip') body = oneFlipped(random, body)
    if (manner === 'short') body = body.subarray(0, random.below(body.length + 1))
    if (manner === 'long') body = concat([body, random.bytes(5000)])
    return new Response(streamOf(random, body, manner, given), { status: answer.status, headers: answer.headers })
  }
  return { fetch, given }
}

function streamOf (random, body, manner, given) {
  let at = 0
  const breaksAt = manner === 'breaks' ? random.below(body.length + 1) : Infinity
  const stream = new ReadableStream({
    pull (controller) {
      if (at >= breaksAt) return controller.error(new TypeError('terminated'))
      if (at >= body.length && manner !== 'endless') return controller.close()
      const piece = at < body.length ? body.slice(at, at + 1 + random.below(20_000)) : new Uint8Array(4096)
      at += piece.length
      given.bytes += piece.length
      controller.enqueue(piece)
    }
  }, { highWaterMark: 0 })
  return stream
}

/** @param {Random} random */
async function run (random) {
  const blob = someBlob(random)
  const { bytes: content, root, tree, key } = blob
  const groupLog = someGroupLog(random)
  const start = random.chance(0.3) ? 0 : random.below(content.length + 2000)
  const end = random.chance(0.3) ? Infinity : start + random.below(1 << random.between(1, 17))
  const what = `${content.length} bytes, groups of 2^${groupLog}, ${start} to ${end}`
  const url = 'http://localhost/blob'
  const got = []
  const take = async pieces => { for await (const piece of pieces) got.push(piece) }
  let served
  const ways = {
    async reader () {
      const good = Bao.response(tree, groupLog, [0])
      const claimed = random.chance(0.1) ? random.claim(content.length) : BigInt(content.length)
      served = server(
        random, concat([header(claimed), spoilt(random, good, Bao.response(siblingOf(blob).tree, groupLog, [0]))])
      )
      const encoded = await httpSource(url, { fetch: served.fetch })
      await take(new VerifiedReader({ cid: root, encoded, groupLog, key }).stream({ start, end }))
    },
    async plain () {
      served = server(random, spoilt(random, content, siblingOf(blob).bytes))
      const outboard = createOutboardSync(content, { groupLog, key })
      const pairs = random.chance(0.8)
        ? outboard
        : Outboard.from(
          { ...outboard, cid: outboard.root, bytes: oneFlipped(random, outboard.bytes) }
        )
      await take(
        (await fetchVerified(url, { cid: root, range: { start, end }, outboard: pairs, key, fetch: served.fetch })).body
      )
    },
    async endpoint () {
      const boundaries = end === Infinity
        ? [Math.floor(start / 1024)]
        : [
            Math.floor(start / 1024), Math.max(Math.floor(start / 1024) + 1, Math.ceil(end / 1024))
          ]
      const slice = Bao.slice(tree, groupLog, boundaries)
      served = server(random, spoilt(random, slice, slice.slice().reverse()))
      const fetch = async (...args) => {
        const response = await served.fetch(...args)
        if (random.chance(0.95)) response.headers.set('content-type', 'application/vnd.bao-slice')
        return response
      }
      await take((await fetchVerified(url, { cid: root, range: { start, end }, groupLog, key, fetch })).body)
    }
  }
  const way = random.pick(Object.keys(ways))
  const error = await errorOf(ways[way])
  const out = concat(got)
  const due = content.subarray(start, end)
  expectThat(same(out, due.subarray(0, out.length)), () => `${what}, ${way}: wrong bytes came out`)
  if (error) expectCode(error, CODES, `${what}, ${way}`)
  else {
    expectThat(
      out.length === due.length, () => `${what}, ${way}: ${out.length} of ${due.length} bytes came out, and no error`
    )
  }
  const most = 4 * content.length + (2 << 20) + 100_000 * served.given.requests
  expectThat(served.given.bytes <= most, () => `${what}, ${way}: ${served.given.bytes} bytes were taken`)
}

export default [{ name: 'servers', about: 'VerifiedReader over httpSource, and fetchVerified: servers that lie', run }]
