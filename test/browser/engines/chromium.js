// Starts Chromium, through playwright-core.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from './programs.js'

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'
]

/** @type {import('./index.js').Engine} */
export const chromium = {
  title: 'Chromium',
  packages: ['chromium'],

  find: () => findProgram('CHROMIUM', ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']),

  /** The profile is on the disk, so that IndexedDB works as usual. */
  async start (executablePath, onGone) {
    const { chromium } = await import('playwright-core')
    const profile = await mkdtemp(join(tmpdir(), 'baobox-profile-'))
    const removeProfile = () => rm(profile, { recursive: true, force: true, maxRetries: 5 })
    const context = await chromium.launchPersistentContext(profile, { executablePath, args: FLAGS, timeout: 0 })
      .catch(async error => { await removeProfile(); throw error })
    context.setDefaultTimeout(0) // tests have limits of their own
    let page, session
    const use = async next => {
      page = next
      page.on('crash', () => onGone('the page crashed'))
      page.on('close', () => onGone('the page was closed'))
      session = await context.newCDPSession(page)
    }
    await use(context.pages()[0] ?? await context.newPage())
    return {
      version: context.browser()?.version() ?? '',
      profile,
      open: async url => { await page.goto(url) },
      // playwright passes on one argument.
      evaluate: (run, ...args) => page.evaluate(`(${run})(...${JSON.stringify(args)})`),
      async follow (selector) {
        await Promise.all([page.waitForEvent('load'), page.click(selector)])
      },
      screenshot: () => page.screenshot(),
      resize: (width, height) => page.setViewportSize({ width, height }),
      async setQuota (origin, quotaSize) {
        await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize })
      },
      async stopWorkers () {
        await session.send('ServiceWorker.enable')
        await session.send('ServiceWorker.stopAllWorkers')
      },
      async kill () {
        const crashed = page.removeAllListeners().waitForEvent('crash')
        session.send('Page.crash').catch(() => {}) // The page does not answer any more.
        await crashed
        await use(await context.newPage())
      },
      async close () {
        await context.close()
        await removeProfile()
      }
    }
  }
}
