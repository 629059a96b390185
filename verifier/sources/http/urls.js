// Checks URLs of callers, and shows URLs in errors.

import { describe } from '../../../lib/core/bytes.js'

/** A URL as errors show it, without the parts that may be secret. @param {URL} url */
export const locationOf = url => url.origin + url.pathname

/** What relative URLs are relative to, as those of `fetch` are: a page may have an element <base>. */
export const baseOfUrls = () => globalThis.document?.baseURI ?? globalThis.location?.href

/**
 * @param {string | URL} url
 * @param {{ name?: string, shown?: string | URL }} [inErrors]  `name`: the name of the argument, default: url; `shown`:
 *   the text that the caller gave, default: the URL
 * @returns {URL} a copy
 */
export function urlOf (url, { name = 'url', shown = url } = {}) {
  if (typeof url !== 'string' && !(url instanceof URL)) {
    throw new TypeError(`"${name}" expected a string or URL, got ${describe(url)}`)
  }
  const base = baseOfUrls()
  const absolute = URL.canParse(url, base) ? new URL(url, base) : undefined
  if (absolute?.protocol === 'http:' || absolute?.protocol === 'https:') {
    if (absolute.username === '' && absolute.password === '') return absolute
    throw new TypeError(`"${name}" expected a URL without a user and password: send them by "headers"`)
  }
  const advice = absolute?.protocol === 'file:'
    ? '. A file is given as { source: path, outboard }, a store as the open store'
    : ''
  throw new TypeError(`"${name}" expected a URL that begins with https:// or http://, got '${shown}'${advice}`)
}
