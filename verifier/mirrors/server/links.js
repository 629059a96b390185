// Reads the `Link` header of an answer: where the outboard of a blob is, which other servers have the blob, and whether
// the server would rather give plain bytes.
// Sources: RFC 8288, 3 (the header); RFC 6249, 3.2 (duplicates).

import { DEFAULT_GROUP_LOG, MAX_GROUP_LOG } from '../../../lib/core/constants.js'

/** How many characters of a `Link` header are read. */
const MAX_LEN = 1 << 13
const MAX_OUTBOARDS = 3
/** How many duplicates of one header are used. */
const MAX_DUPLICATES = 16
/** The priority of a duplicate that does not state one: the lowest. */
const LAST = 999_999

/** @typedef {{ url: URL, parameters: string }} Link */

/**
 * The outboards that a header names, as `<movie.obao4>; rel=describedby; type="application/vnd.bao-outboard"`.
 *
 * @param {string} header @param {URL} base  the URL of the answer
 * @param {URL} [asked]  the URL of the request, if it redirects to `base`
 * @returns {{ url: URL, groupLog: number }[]}
 */
export function outboardLinks (header, base, asked = base) {
  const links = linksOf(header, { base, asked }, 'describedby').map(({ url, parameters }) => {
    const log = /group-log=(\d+)/i.exec(parameters) ?? /\.obao(\d+)$/.exec(url.pathname)
    return { url, groupLog: log === null ? DEFAULT_GROUP_LOG : Number(log[1]) }
  })
  return links.filter(({ groupLog }) => groupLog <= MAX_GROUP_LOG).slice(0, MAX_OUTBOARDS)
}

/**
 * The other URLs of the same blob that a header names, as `<https://b.example/movie>; rel=duplicate; pri=1`, in the
 * order that the server prefers.
 *
 * @param {string} header @param {URL} base  the URL of the answer
 * @param {URL} [asked]  the URL of the request, if it redirects to `base`
 * @returns {URL[]} except `base` and `asked` themselves
 */
export function duplicateLinks (header, base, asked = base) {
  const links = linksOf(header, { base, asked }, 'duplicate').map(({ url, parameters }) => {
    const pri = /;\s*pri\s*=\s*"?(\d{1,6})\b/i.exec(parameters)
    return { url, pri: pri === null ? LAST : Number(pri[1]) }
  })
  const urls = new Map(links.sort((a, b) => a.pri - b.pri).map(({ url }) => [url.href, url]))
  urls.delete(base.href)
  urls.delete(asked.href)
  return [...urls.values()].slice(0, MAX_DUPLICATES)
}

/**
 * True if the header of a slice names its blob in plain form, as `<movie>; rel=alternate`: then the server redirects
 * requests for plain bytes to a place from which long ranges are better read.
 *
 * @param {string} header @param {URL} base  the URL of the answer
 */
export const hasPlainLink = (header, base) => linksOf(header, { base, asked: base }, 'alternate').length > 0

/**
 * The links with a relation that may be followed: those without a user and password, whose protocol is https, or http
 * if the request and the answer used http.
 *
 * @param {string} header @param {{ base: URL, asked: URL }} from @param {string} relation
 * @returns {Link[]}
 */
function linksOf (header, { base, asked }, relation) {
  const isClear = [base, asked].every(({ protocol }) => protocol === 'http:')
  const links = []
  for (const [, target, parameters] of header.slice(0, MAX_LEN).matchAll(/<([^<>]*)>([^<]*)/g)) {
    const [, quoted, token] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters) ?? []
    const relations = (quoted ?? token ?? '').toLowerCase().split(/\s+/)
    if (!relations.includes(relation) || !URL.canParse(target, base.href)) continue
    const url = new URL(target, base)
    url.hash = ''
    const isAllowed = url.protocol === 'https:' || (url.protocol === 'http:' && isClear)
    if (isAllowed && url.username === '' && url.password === '') links.push({ url, parameters })
  }
  return links
}
