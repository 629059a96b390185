// Turns a file at a URL into a source.

import { fetchRefused } from '../../../lib/core/errors.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { HttpFile } from './file.js'
import { HTTP_OPTIONS } from './options.js'

/** @import { RandomAccess } from '../../../lib/core/types.js' */
/** @import { HttpOptions } from './options.js' */

/**
 * How many bytes the first request asks for: enough for an encoding's header and the pairs above its first group, or
 * for all of a small file.
 */
const FIRST_READ_LEN = 1 << 14

/**
 * Opens a file at a URL as a source that can be read at any offset, for `VerifiedReader`, `openOutboard` and every
 * other call that takes a source.
 *
 * Every read requests exactly its bytes. When a connection breaks, another request continues where the answer ended. If
 * the file is replaced while it is read, the read fails, provided that the server shows the change by the ETag,
 * Last-Modified or the length.
 *
 *     const reader = new VerifiedReader({ cid, encoded: await httpSource('https://example.org/movie.bao') })
 *
 * @param {string | URL} url
 * @param {HttpOptions} [options]  `signal` ends all reads
 * @returns {Promise<RandomAccess>} its size is a claim of the server
 * @throws {import('../../../lib/core/errors.js').BaoError} FETCH_FAILED { cause }, FETCH_STATUS { status },
 *   FETCH_CHANGED, FETCH_REFUSED; each with `location`
 */
export async function httpSource (url, options) {
  assertKnownOptions(options, HTTP_OPTIONS)
  const file = new HttpFile(url, options)
  const start = await file.read(0, FIRST_READ_LEN)
  const { size } = file
  if (size === undefined) throw fetchRefused(file.location, 'it does not state the size')
  return {
    size,
    overlaps: true,
    read: (from, to, signal) => to <= start.length ? start.slice(from, to) : file.read(from, to, signal)
  }
}
