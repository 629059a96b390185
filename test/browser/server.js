// Serves two pages, their scripts and the test vectors, to this machine only.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { once } from 'node:events'

const page = script => `<!doctype html>
<meta charset="utf-8">
<title>baobox</title>
<link rel="icon" href="data:,">
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
 * @returns {Promise<{ url: string, close: () => void }>}
 */
export async function serve (scripts, headers) {
  const server = createServer(async ({ url }, response) => {
    const { pathname } = new URL(url, 'http://localhost')
    const [status, type, body] = await answer(pathname)
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

  async function answer (pathname) {
    if (pathname === '/') return [200, 'text/html', page('/suites.js')]
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
