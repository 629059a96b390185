// The options of requests, and which of them other servers get.

/**
 * @typedef {object} HttpOptions
 * @property {typeof globalThis.fetch} [fetch]  replaces the runtime's, to add credentials, to retry, to
 *   refuse redirects or places. It gets each redirect as a request of its own, with `redirect: 'manual'`; in a page one
 *   with `redirect: 'follow'`, without `headers`
 * @property {ConstructorParameters<typeof Headers>[0]} [headers]  of every request to the origin of the URL, in
 *   whatever form `new Headers` takes them. Another origin, to which a server redirects or refers, does not get them
 * @property {AbortSignal} [signal]
 */

export const HTTP_OPTIONS = ['fetch', 'headers', 'signal']

/**
 * Options for requests to a URL that a server has named. The headers and cookies that the caller sends to one origin
 * are not sent to another.
 *
 * @param {URL} url
 * @param {URL[]} from  the URL that was asked for, and the one that has answered after redirects
 * @param {HttpOptions} options  for the first of these
 * @returns {HttpOptions}
 */
export function optionsFor (url, from, options) {
  return from.every(({ origin }) => origin === url.origin) ? options : withoutCredentials(options)
}

/** Options for requests without headers of the caller and without cookies. @param {HttpOptions} options */
export function withoutCredentials ({ fetch = globalThis.fetch, signal }) {
  // Some servers' runtimes have no cookies, and refuse the option.
  if (!('credentials' in Request.prototype)) return { fetch, signal }
  /** @type {typeof globalThis.fetch} */
  const fetchPlain = (input, init) => fetch(input, { ...init, credentials: 'omit' })
  return { fetch: fetchPlain, signal }
}
