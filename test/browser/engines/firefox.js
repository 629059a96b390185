// Starts Firefox, through puppeteer-core and WebDriver BiDi.
import { findProgram } from './programs.js'

/** Firefox keeps left pages for the button Back, and a service worker that such a page has is not replaced. */
const extraPrefsFirefox = { 'browser.sessionhistory.max_total_viewers': 0 }

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
      close: () => browser.close()
    }
  }
}
