// Starts WebKitGTK's small browser on a display without a screen, through selenium-webdriver and WebKit's own driver.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { findProgram } from './programs.js'

const MACHINE = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
/** The folders in which distributions put the small browser, which is not a command. */
const FOLDERS = [`/usr/lib/${MACHINE}-linux-gnu`, '/usr/libexec', '/usr/lib64', '/usr/lib']
  .flatMap(folder => ['webkitgtk-6.0', 'webkit2gtk-4.1', 'webkit2gtk-4.0'].map(name => `${folder}/${name}`))
/** As long as a test may take. The driver's own limit is half of that. */
const SCRIPT_TIMEOUT = 300_000

/** @type {import('./index.js').Engine} */
export const webkit = {
  title: 'WebKitGTK',
  packages: ['webkit2gtk-driver', 'xvfb'],

  find () {
    const driver = findProgram('WEBKITWEBDRIVER', ['WebKitWebDriver'])
    const browser = findProgram('MINIBROWSER', ['MiniBrowser'], FOLDERS)
    const display = findProgram('XVFB', ['Xvfb'])
    return driver && display && browser && { driver, display, browser }
  },

  /** The profile is in memory: a browser that is driven keeps nothing. */
  async start ({ driver, display, browser }, onGone) {
    const { Builder } = await import('selenium-webdriver')
    const { DriverService } = await import('selenium-webdriver/remote/index.js')
    const { findFreePort } = await import('selenium-webdriver/net/portprober.js')
    const screen = await startDisplay(display)
    const port = await findFreePort()
    const service = new DriverService.Builder(driver).setLoopback(true).setPort(port).addArguments(`--port=${port}`)
      .setEnvironment({ ...process.env, DISPLAY: screen.name, GDK_BACKEND: 'x11' }).build()
    const close = async () => {
      await service.kill()
      screen.close()
    }
    try {
      const page = await new Builder().usingServer(await service.start()).withCapabilities({
        browserName: 'MiniBrowser',
        'webkitgtk:browserOptions': { binary: browser, args: ['--automation'] }
      }).build()
      await page.manage().setTimeouts({ script: SCRIPT_TIMEOUT })
      return {
        version: (await page.getCapabilities()).get('browserVersion') ?? '',
        async open (url) {
          await page.get(url)
          await loaded(page)
        },
        evaluate: (run, ...args) => evaluate(page, run, args),
        async follow (selector) {
          const before = await page.getCurrentUrl()
          await page.findElement({ css: selector }).click()
          await page.wait(async () => await page.getCurrentUrl() !== before)
          await loaded(page)
        },
        screenshot: async () => Buffer.from(await page.takeScreenshot(), 'base64'),
        resize: (width, height) => resize(page, width, height),
        async close () {
          await page.quit().catch(error => onGone(error.message))
          await close()
        }
      }
    } catch (error) {
      await close()
      throw error
    }
  }
}

/** Waits until a page has run its scripts: WebKit's driver may say sooner that it has opened a page. */
function loaded (page) {
  return page.wait(async () => await page.executeScript('return document.readyState') === 'complete')
}

/** Runs a function in a page. The driver waits for a callback, not for a promise. */
async function evaluate (page, run, args) {
  const [value, error] = await page.executeAsyncScript(`
    const [args, done] = arguments
    Promise.resolve().then(() => (${run})(...args)).then(value => done([value]), error => done([null, String(error)]))
  `, args)
  if (error !== undefined) throw new Error(error)
  return value
}

/** Gives the visible part of a page a size. The window has a frame, whose size is only known afterwards. */
async function resize (page, width, height) {
  const window = page.manage().window()
  await window.setRect({ width, height })
  const [inner, outer] = await page.executeScript('return [innerHeight, outerHeight]')
  await window.setRect({ width, height: height + outer - inner })
}

/**
 * Starts an X server in memory, which chooses its own number.
 *
 * @returns {Promise<{ name: string, close: () => void }>}
 */
async function startDisplay (program) {
  const args = ['-displayfd', '3', '-screen', '0', '1024x768x24', '-nolisten', 'tcp']
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'exit').then(([code]) => { throw new Error(`Xvfb ended with exit code ${code}`) })
  ended.catch(() => {})
  const [number] = await Promise.race([once(/** @type {any} */ (child.stdio[3]), 'data'), ended])
  return { name: `:${String(number).trim()}`, close: () => { child.kill() } }
}
