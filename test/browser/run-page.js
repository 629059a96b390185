// Opens a page in a browser, and prints what the page reports until its suites have ended.
import { ALL, EFFORT, SEED } from './pages.js'
import { serve } from './server.js'

const LONGEST = 30 * 60_000
/** Longer than any test may take. A page that has crashed sends no more reports. */
const LONGEST_SILENCE = 6 * 60_000

/**
 * @typedef {object} Outcome
 * @property {number} passes
 * @property {number} pending
 * @property {number} failures
 * @property {number} errors  outside of tests
 * @property {number} seconds
 * @property {string} version  of the browser
 */

/**
 * @param {string} name  of the engine, in ENGINES
 * @param {(onGone: (reason: string) => void) => Promise<import('./engines/index.js').Browser>} start
 * @param {ReturnType<typeof import('./pages.js').pagesOf>[number]} kind
 * @param {Map<string, Uint8Array>} scripts
 * @returns {Promise<Outcome>}
 */
export async function runPage (name, start, { kernel, workers, headers, grep = '' }, scripts) {
  const began = Date.now()
  const ended = withResolvers()
  const later = (milliseconds, what) => setTimeout(() => ended.reject(new Error(what)), milliseconds)
  const timer = later(LONGEST, 'the page took too long')
  const silence = later(LONGEST_SILENCE, 'the page reported nothing for minutes')
  let errors = 0
  let hasBegun = false
  const { url, close } = await serve(scripts, headers, {
    '/report' (events) {
      silence.refresh()
      for (const { begin = false, line, error, outcome } of events) {
        hasBegun ||= begin
        if (line !== undefined) console.log(line)
        if (outcome !== undefined) ended.resolve(outcome)
        if (error !== undefined) {
          errors++
          console.log(`outside of any test: ${error}`)
          if (!hasBegun) ended.reject(new Error('the suites could not be loaded'))
        }
      }
    },
    '/quota': ({ bytes }) => browser?.setQuota?.(new URL(url).origin, bytes)
  })
  let browser
  try {
    browser = await start(reason => ended.reject(new Error(reason)))
    const quota = String(browser.setQuota !== undefined)
    const query = new URLSearchParams({ engine: name, kernel, workers, grep, quota, effort: EFFORT, all: ALL })
    if (SEED !== undefined) query.set('seed', SEED)
    browser.open(`${url}?${query}`).catch(ended.reject)
    const outcome = await ended.promise
    return { ...outcome, errors, seconds: Math.round((Date.now() - began) / 1000), version: browser.version }
  } finally {
    clearTimeout(timer)
    clearTimeout(silence)
    await browser?.close()
    close()
  }
}

/** `Promise.withResolvers`, which Node.js 20 does not have. It may reject before anybody waits. */
function withResolvers () {
  let resolve, reject
  const promise = new Promise((...functions) => { [resolve, reject] = functions })
  promise.catch(() => {})
  return { promise, resolve, reject }
}
