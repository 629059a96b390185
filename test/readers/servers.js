// Servers of files, as anybody may run them.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'

/**
 * A server of the files in a folder, which answers ranges like any other.
 *
 * @param {string} folder
 * @param {{ lies?: boolean }} [options]  `lies`: true to flip a bit in the answers that begin in the middle of a file,
 *   except in those of outboards
 */
export async function serveFiles (folder, { lies = false } = {}) {
  const seen = { url: '', sent: 0, answers: 0, lies: 0, close () {} }
  const server = createServer(async ({ url, headers: { range } }, response) => {
    const name = basename(new URL(url, 'http://localhost').pathname)
    const { size } = await stat(join(folder, name)).catch(() => ({}))
    if (size === undefined) return response.writeHead(404).end()
    const [, first = '0', last = ''] = /^bytes=(\d+)-(\d*)$/.exec(range ?? '') ?? []
    const [start, end] = [Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1)]
    response.writeHead(range === undefined ? 200 : 206, {
      'content-length': end - start + 1,
      ...range !== undefined && { 'content-range': `bytes ${start}-${end}/${size}` }
    })
    seen.answers++
    let isWrong = lies && start > 0 && !name.endsWith('.obao4')
    if (isWrong) seen.lies++
    const pieces = createReadStream(join(folder, name), { start, end })
    await pipeline(pieces, async function * (pieces) {
      for await (const piece of pieces) {
        if (isWrong) piece[piece.length >> 1] ^= 1
        isWrong = false
        seen.sent += piece.length
        yield piece
      }
    }, response).catch(() => {}) // the client has enough
  })
  await new Promise(resolve => server.listen(0, 'localhost', resolve))
  seen.url = `http://localhost:${server.address().port}`
  seen.close = () => {
    server.closeAllConnections()
    server.close()
  }
  return seen
}
