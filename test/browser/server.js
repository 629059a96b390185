// Serves pages, their scripts and the test vectors, to this machine only. The page sends its output back.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { json } from 'node:stream/consumers'

const page = script => `<!doctype html>
<meta charset="utf-8">
<title>baobox</title>
<link rel="icon" href="data:,">
<script src="/report.js"></script>
<script type="module" src="${script}"></script>
`

/** Where the vectors are. The page asks for them under `/checkout/test/`, or relative to that. */
const FOLDERS = {
  '/checkout/test/': new URL('../', import.meta.url),
  '/shared/conformance/': new URL('../../../shared/conformance/', import.meta.url)
}

/**
 * @param {Map<string, Uint8Array>} scripts  by path
 * @param {Record<string, string>} headers  of every answer
 * @param {Record<string, (body: any) => unknown>} calls  functions that a page may call by a POST of JSON, by path
 * @returns {Promise<{ url: string, close: () => void }>}
 */
export async function serve (scripts, headers, calls) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost')
    const [status, type, body] = await (request.method === 'POST' ? call(pathname, request) : answer(pathname))
    response.writeHead(status, { 'content-type': type, ...headers }).end(body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close () {
      server.close()
      server.closeAllConnections()
    }
  }

  async function call (pathname, request) {
    const isKnown = Object.hasOwn(calls, pathname)
    if (isKnown) await calls[pathname](await json(request))
    return [isKnown ? 204 : 404, 'text/plain', '']
  }

  async function answer (pathname) {
    if (pathname === '/') return [200, 'text/html', page('/suites.js')]
    if (pathname === '/tab') return [200, 'text/html', '<!doctype html><title>a tab</title>']
    if (pathname === '/visitor') return [200, 'text/html', page('/visitor.js')]
    if (scripts.has(pathname)) return [200, 'text/javascript', scripts.get(pathname)]
    for (const [prefix, folder] of Object.entries(FOLDERS)) {
      if (!pathname.startsWith(prefix) || !pathname.endsWith('.json')) continue
      const file = new URL(pathname.slice(prefix.length), folder)
      return existsSync(file) ? [200, 'application/json', await readFile(file)] : [204, 'application/json', '']
    }
    return [404, 'text/plain', `no ${pathname} here`]
  }
}
