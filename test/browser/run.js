// The suites in a headless Chromium: `npm run test:browser`. With `--install`, one is fetched where there is none and apt-get may; with
// `--grep=PATTERN` only some run, as in mocha. Where no browser can be had, one line says what was not run.
import { parseArgs } from 'node:util'
import { bundle } from './bundle.js'
import { findChromium, installChromium, withPage } from './chromium.js'
import { serve } from './server.js'

const LONGEST = 15 * 60_000

/**
 * The same suites under different answers of the server. `kernel` is what must be chosen there, and `workers` whether they must be started: the
 * suites beside this file ask. `grep` chooses suites, as mocha does.
 */
const PAGES = [
  { name: 'a plain page', kernel: 'simd', workers: true, headers: {} },
  {
    name: 'an isolated page, where threads share memory',
    kernel: 'simd',
    workers: true,
    headers: { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' },
    grep: '^(a page|several threads|workers) '
  },
  {
    name: 'a page whose Content-Security-Policy refuses workers',
    kernel: 'simd',
    workers: false,
    headers: { 'content-security-policy': "default-src 'self'; img-src data:; script-src 'self' 'wasm-unsafe-eval'; worker-src 'none'" },
    grep: '^a page '
  },
  {
    name: 'a page whose Content-Security-Policy refuses WebAssembly',
    kernel: 'js',
    workers: true,
    headers: { 'content-security-policy': "default-src 'self'; img-src data:" }
  }
]

/**
 * Opens a page and says what it says, until it says how it went.
 *
 * @returns {Promise<{ passes: number, pending: number, failures: number, errors: number }>} errors: those outside of tests
 */
async function runPage (page, { kernel, workers, headers, grep = '' }, scripts) {
  const { url, close } = await serve(scripts, headers)
  const query = new URLSearchParams({ kernel, workers, grep, effort: process.env.EFFORT ?? 1 })
  let errors = 0
  let timer
  try {
    await lendQuota(page, new URL(url).origin)
    return await new Promise((resolve, reject) => {
      timer = setTimeout(() => reject(new Error('the page took too long')), LONGEST)
      let hasBegun = false
      page.on('console', message => {
        const text = message.text()
        hasBegun ||= text === 'begin'
        if (text.startsWith('outcome ')) resolve({ ...JSON.parse(text.slice('outcome '.length)), errors })
        else console.log(text)
      })
      page.on('pageerror', error => {
        if (!hasBegun) reject(error)
        errors++
        console.log(`outside of any test: ${error.stack}`)
      })
      page.on('crash', () => reject(new Error('the page crashed')))
      page.on('close', () => reject(new Error('the page was closed')))
      page.goto(`${url}?${query}`).catch(reject)
    })
  } finally {
    clearTimeout(timer)
    close()
  }
}

/** Lets tests say how many bytes the browser gives to their site: `setQuota(bytes)`, or as many as it likes. */
async function lendQuota (page, origin) {
  const session = await page.context().newCDPSession(page)
  await page.exposeFunction('setQuota', quotaSize => session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize }))
}

const { values: { install: isInstalling, grep } } = parseArgs({ options: { install: { type: 'boolean' }, grep: { type: 'string' } } })
const executable = findChromium() ?? (isInstalling && installChromium() ? findChromium() : undefined)
if (executable === undefined) {
  console.log(`NOT RUN: the suites in a browser. There is no Chromium here${isInstalling ? ', and none could be installed' : ''}; CHROMIUM=/path/to/it names one.`)
} else {
  const scripts = await bundle()
  const outcomes = []
  for (const kind of PAGES) {
    console.log(`\n# In ${kind.name}\n`)
    const wanted = { ...kind, ...grep && { grep } }
    outcomes.push([kind.name, await withPage(executable, page => runPage(page, wanted, scripts))])
  }
  for (const [name, { passes, pending, failures, errors }] of outcomes) {
    console.log(`${passes} passing, ${pending} skipped, ${failures} failing, ${errors} errors outside of tests: in ${name}`)
    if (failures > 0 || errors > 0 || passes === 0) process.exitCode = 1
  }
}
