// Runs the suites that drive a browser from Node.js.
import Mocha from 'mocha'
import { testDemo } from './demo.js'
import { testFilm } from './film.js'
import { testLongBlobs } from './long-blobs.js'
import { testPublished } from './published.js'
import { testServiceWorker } from './service-worker.js'
import { testSite } from './site.js'
import { testSmallPage } from './small-page.js'

/**
 * @param {(onGone: (reason: string) => void) => Promise<import('../engines/index.js').Browser>} start
 * @param {string} [grep]  chooses tests
 * @returns {Promise<import('../run-page.js').Outcome>}
 */
export async function runDriven (start, grep) {
  const began = Date.now()
  const browser = await start(() => {}) // the calls of a browser that has ended fail
  try {
    const mocha = new Mocha({ timeout: 300_000, ...grep && { grep } })
    mocha.suite.emit('pre-require', globalThis, '', mocha) // defines `describe` and `it`
    testSite(browser)
    testSmallPage(browser)
    testServiceWorker(browser)
    testDemo(browser)
    testPublished(browser)
    testFilm(browser)
    testLongBlobs(browser)
    const { stats: { passes, pending, failures } } = await new Promise(resolve => {
      const runner = mocha.run(() => resolve(runner))
    })
    const seconds = Math.round((Date.now() - began) / 1000)
    return { passes, pending, failures, errors: 0, seconds, version: browser.version }
  } finally {
    await browser.close()
  }
}
