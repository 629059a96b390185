// Works around a fault of Node.js (seen from 20.20 to 26.10). Its `fetch` rejects an answer with more than five content
// encodings, but leaves the connection open and listens for no error of it. When the server breaks the connection
// later, or the caller aborts, the process ends.

/** As many as `fetch` of Node.js takes. */
const MAX_ENCODINGS = 5

let isDone = false

/** Has such answers end their connections at once, also those to other requests of the process. */
export function endOverEncoded () {
  if (isDone) return
  isDone = true
  const { process } = /** @type {{ process?: typeof import('node:process') }} */ (globalThis)
  // Other runtimes have nothing that is published under this name.
  process?.getBuiltinModule?.('node:diagnostics_channel').subscribe('undici:request:headers', onHeaders)
}

/**
 * Called before `fetch` sees the headers.
 *
 * @param {any} message  `headers`: names and values in turn, as bytes; or an object, of HTTP/2
 */
function onHeaders ({ request, response: { headers } }) {
  const list = Array.isArray(headers) ? headers : Object.entries(headers).flat()
  const values = list.filter((_, i) => i % 2 === 1 && /^content-encoding$/i.test(String(list[i - 1])))
  const count = values.join(',').split(',').length
  if (count > MAX_ENCODINGS) request.abort?.(new Error(`too many content encodings: ${count}`))
}
