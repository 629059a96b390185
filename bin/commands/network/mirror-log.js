// Keeps what each mirror of `baobox fetch` was asked and answered, and prints it for --verbose.

import { locationOf } from '../../../verifier/sources/http/urls.js'
import { formatCount, sizeText } from '../../terminal/format.js'
import { messageOf, oneLine } from '../../terminal/errors.js'

/** @import { DownloadEvent } from '../../../exchange/download/progress.js' */
/** @import { ProgressListener } from '../../terminal/progress.js' */
/** @import { MirrorReport } from '../../../verifier/mirrors/mirror-record.js' */

/**
 * @typedef {object} Answer
 * @property {string} location  of the mirror; the origin of a server of another origin to which it has led
 * @property {'slice' | 'list of members' | 'range' | 'file'} asked
 * @property {number} [status]  undefined if there was no answer
 */
/** @typedef {(answer: Answer) => void} OnAnswer */
/** @typedef {Pick<MirrorReport, 'location'> & Partial<MirrorReport>} Report */

/**
 * Makes a `fetch` for one mirror that tells of each answer.
 *
 * @param {string} place  its URL, perhaps with placeholders @param {OnAnswer} onAnswer
 * @returns {typeof globalThis.fetch}
 */
export function heardBy (place, onAnswer) {
  const mirror = new URL(place)
  const isTemplate = /\{(cid|hex|hex2)\}/.test(place)
  return async (input, init) => {
    const { origin } = new URL(String(input))
    const location = origin === mirror.origin && !isTemplate ? locationOf(mirror) : origin
    const asked = askedFor(new Headers(init?.headers))
    try {
      const response = await fetch(input, init)
      onAnswer({ location, asked, status: response.status })
      return response
    } catch (error) {
      if (!init?.signal?.aborted) onAnswer({ location, asked })
      throw error
    }
  }
}

/** @param {Headers} headers @returns {Answer['asked']} */
function askedFor (headers) {
  const accept = headers.get('accept') ?? ''
  if (accept.includes('bao-slice')) return 'slice'
  if (accept.includes('bao-members')) return 'list of members'
  return headers.has('range') ? 'range' : 'file'
}

export class MirrorLog {
  #values
  /** How often each mirror was asked for each thing, and has given each answer. */
  #heard = /** @type {Map<string, { asked: Map<string, number>, answered: Map<string, number> }>} */ (new Map())
  /** What the last event of the download says of the mirrors. @type {Report[]} */
  #reports = []

  /** @param {{ bytes?: boolean }} values  of the options */
  constructor (values) {
    this.#values = values
  }

  /** @type {OnAnswer} */
  add = ({ location, asked, status }) => {
    const heard = this.#heard.get(location) ?? { asked: new Map(), answered: new Map() }
    this.#heard.set(location, heard)
    count(heard.asked, asked)
    count(heard.answered, status === undefined ? 'no answer' : `answered ${status}`)
  }

  /**
   * Makes a listener for the progress of a download, which is passed on.
   *
   * @param {ProgressListener} show
   * @returns {(event: DownloadEvent) => void}
   */
  listener = show => event => {
    this.#reports = event.detail.mirrors
    show(event)
  }

  /**
   * Prints a line for each mirror on stderr.
   *
   * @param {unknown} [error]  the one that ended the download, if it has failed
   */
  print (error) {
    const failures = error instanceof Error ? [error, ...causesOf(error)] : []
    const places = new Map(this.#reports.map(report => [report.location, report]))
    for (const location of this.#heard.keys()) if (!places.has(location)) places.set(location, { location })
    for (const report of places.values()) {
      const failure = failures.find(error => 'location' in error && error.location === report.location)
      const parts = [...this.#heardText(report.location), ...this.#reportText(report, failure)]
      process.stderr.write(`baobox: ${report.location}: ${parts.join('; ')}\n`)
    }
  }

  /** @param {string} location @returns {string[]} */
  #heardText (location) {
    const heard = this.#heard.get(location) ?? (URL.canParse(location) && this.#heard.get(new URL(location).origin))
    if (!heard) return []
    const asked = [...heard.asked].map(([what, times]) =>
      what.startsWith('list') ? formatCount(times, what, 'lists of members') : formatCount(times, what))
    const answered = [...heard.answered].map(([what, times]) => `${what} (${times})`)
    return [`asked for ${asked.join(', ')}`, answered.join(', ').replaceAll(', answered ', ', ')]
  }

  /** @param {Report} report @param {Error} [failure] @returns {string[]} */
  #reportText ({ state, bytes, error: known }, failure) {
    const sent = bytes === undefined ? [] : [`${sizeText(this.#values, bytes)} verified`]
    const error = known ?? failure
    if (error === undefined) return sent
    const [isDropped, why] = [state !== 'good' && state !== 'waiting', oneLine(messageOf(error))]
    if (state === 'liar') return [...sent, `dropped, because it has sent wrong bytes: ${why}`]
    return [...sent, isDropped ? `dropped: ${why}` : `last failure: ${why}`]
  }
}

/** @param {Map<string, number>} counts @param {string} what */
const count = (counts, what) => counts.set(what, (counts.get(what) ?? 0) + 1)

/** @param {Error} error @returns {Error[]} */
const causesOf = ({ cause }) => cause instanceof AggregateError ? cause.errors : []
