// Works around a fault of Node.js (seen from 20.20 to 26.10). Its `fetch` rejects an answer with more than five content
// encodings, but leaves the connection open without an error listener. If the server then breaks the connection, or the
// caller aborts, the unhandled error ends the process.

/** The maximum number of content encodings that `fetch` of Node.js accepts. */
const MAX_ENCODINGS = 5

let isDone = false

/** Makes every answer in this process with more than five encodings end its connection immediately. */
export function endOverEncoded () {
  if (isDone) return
  isDone = true
  const { process } = /** @type {{ process?: typeof import('node:process') }} */ (globalThis)
  // Other runtimes do not publish anything under this name.
  process?.getBuiltinModule?.('node:diagnostics_channel').subscribe('undici:request:headers', onHeaders)
}

/**
 * Called before `fetch` sees the headers.
 *
 * @param {any} message  `headers`: alternating names and values, as bytes; with HTTP/2, an object
 */
function onHeaders ({ request, response: { headers } }) {
  const list = Array.isArray(headers) ? headers : Object.entries(headers).flat()
  const values = list.filter((_, i) => i % 2 === 1 && /^content-encoding$/i.test(String(list[i - 1])))
  const count = values.join(',').split(',').length
  if (count > MAX_ENCODINGS) request.abort?.(new Error(`too many content encodings: ${count}`))
}
