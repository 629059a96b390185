// Starts Firefox, through puppeteer-core and WebDriver BiDi.
import { findProgram } from './programs.js'

const extraPrefsFirefox = {
  // Firefox keeps left pages for the button Back, and a service worker that such a page has is not replaced.
  'browser.sessionhistory.max_total_viewers': 0,
  // Firefox ends a worker so many milliseconds after the last request, even in the middle of a body. Usually 30 000.
  'dom.serviceWorkers.idle_timeout': 10_000
}

/** @type {import('./index.js').Engine} */
export const firefox = {
  title: 'Firefox',
  packages: ['firefox-esr'],

  find: () => findProgram('FIREFOX', ['firefox-esr', 'firefox']),

  /** puppeteer makes a profile on the disk and removes it. */
  async start (executablePath, onGone) {
    const { default: puppeteer } = await import('puppeteer-core')
    const browser = await puppeteer.launch({ browser: 'firefox', executablePath, headless: true, extraPrefsFirefox })
    browser.on('disconnected', () => onGone('Firefox ended'))
    const [page] = await browser.pages()
    return {
      version: (await browser.version()).replace('firefox/', ''),
      open: async url => { await page.goto(url, { timeout: 0 }) },
      evaluate: (run, ...args) => page.evaluate(run, ...args),
      async follow (selector) {
        await Promise.all([page.waitForNavigation(), page.click(selector)])
      },
      screenshot: async () => Buffer.from(await page.screenshot()),
      resize: (width, height) => page.setViewport({ width, height }),
      stopWorkers: async () => {}, // they end by themselves: see above
      close: () => browser.close()
    }
  }
}
