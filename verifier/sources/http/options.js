// The options of requests, and which of them are used for requests to other servers.

import { defaultFetch } from '#default-fetch'

/**
 * @typedef {object} HttpOptions
 * @property {typeof globalThis.fetch} [fetch]  for example to add credentials, to retry, or to refuse redirects or
 *   hosts. It is called for each redirect, with `redirect: 'manual'`. In a page, it is called once more after a
 *   redirect, with `redirect: 'follow'` and without `headers`. Default: the runtime's `fetch`, or `node:http` in
 *   Node.js
 * @property {ConstructorParameters<typeof Headers>[0]} [headers]  for every request to the origin of the URL, in any
 *   form that `new Headers` takes. They are never sent to another origin to which a server redirects or links
 * @property {AbortSignal} [signal]
 */

export const HTTP_OPTIONS = ['fetch', 'headers', 'signal']

/**
 * Options for requests to a URL that a server has named. The caller's headers and cookies for one origin are not sent
 * to another.
 *
 * @param {URL} url
 * @param {URL[]} from  the URL of the request, and the one that answered after redirects
 * @param {HttpOptions} options  for requests to the first of these
 * @returns {HttpOptions}
 */
export function optionsFor (url, from, options) {
  return from.every(({ origin }) => origin === url.origin) ? options : withoutCredentials(options)
}

/** Options for requests without headers of the caller and without cookies. @param {HttpOptions} options */
export function withoutCredentials ({ fetch = defaultFetch(), signal }) {
  // Some runtimes on servers do not have cookies, and refuse the option.
  if (!('credentials' in Request.prototype)) return { fetch, signal }
  /** @type {typeof globalThis.fetch} */
  const fetchPlain = (input, init) => fetch(input, { ...init, credentials: 'omit' })
  return { fetch: fetchPlain, signal }
}
