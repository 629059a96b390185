// Decides which of the mirrors that servers name (`Link: <...>; rel=duplicate`) are added to those of the caller.

import { assertInteger } from '../../lib/core/bytes.js'
import { locationOf } from '../sources/http/urls.js'
import { mirrorOf } from './mirror.js'

/** @import { HttpOptions } from '../sources/http/options.js' */
/** @import { Mirror } from './mirror.js' */

/**
 * As many as a download asks at once. More would wait; and every one of them is a server that a stranger has chosen,
 * and that gets requests of this process.
 */
export const DEFAULT_MAX_DUPLICATES = 4

export class Duplicates {
  #max
  /** Those that were added. */
  #mirrors = /** @type {Set<Mirror>} */ (new Set())

  /** @param {number} max */
  constructor (max) {
    assertInteger('maxDuplicates', max)
    this.#max = max
  }

  /**
   * The mirror behind a URL that another mirror has named. Those that were added name no others, so there are no
   * chains and no loops.
   *
   * @param {Mirror} from @param {URL} url @param {HttpOptions} http
   * @param {Mirror[]} known  all mirrors
   * @returns {Mirror | undefined} undefined when it is not to be added
   */
  take (from, url, http, known) {
    if (this.#mirrors.size >= this.#max || this.#mirrors.has(from)) return undefined
    if (known.some(({ location }) => location === locationOf(url))) return undefined
    const mirror = mirrorOf(url, http)
    this.#mirrors.add(mirror)
    return mirror
  }
}
