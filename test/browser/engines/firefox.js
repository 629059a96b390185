// Starts Firefox, through puppeteer-core and WebDriver BiDi.
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

  async start (executablePath, onGone) {
    const { default: puppeteer } = await import('puppeteer-core')
    const userDataDir = await mkdtemp(join(tmpdir(), 'baobox-profile-'))
    const removeProfile = () => rm(userDataDir, { recursive: true, force: true, maxRetries: 5 })
    let browser, page
    const launch = async () => {
      await writeFile(join(userDataDir, 'user.js'), '') // puppeteer wants to keep a copy of it
      const options = { executablePath, userDataDir, extraPrefsFirefox, headless: true, timeout: 0, protocolTimeout: 0 }
      browser = await puppeteer.launch({ ...options, browser: 'firefox' })
      browser.on('disconnected', () => onGone('Firefox ended'));
      [page] = await browser.pages()
      page.setDefaultTimeout(0) // tests have limits of their own
    }
    await launch().catch(async error => { await removeProfile(); throw error })
    return {
      version: (await browser.version()).replace('firefox/', ''),
      profile: userDataDir,
      open: async url => { await page.goto(url) },
      evaluate: (run, ...args) => page.evaluate(run, ...args),
      async follow (selector) {
        await Promise.all([page.waitForNavigation(), page.click(selector)])
      },
      screenshot: async () => Buffer.from(await page.screenshot()),
      resize: (width, height) => page.setViewport({ width, height }),
      stopWorkers: async () => {}, // they end by themselves: see above
      async kill () {
        browser.removeAllListeners()
        const ended = once(browser.process(), 'exit')
        browser.process().kill('SIGKILL')
        await ended
        await launch()
      },
      async close () {
        await browser.close()
        await removeProfile()
      }
    }
  }
}
