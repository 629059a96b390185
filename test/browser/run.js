// Runs the suites in a headless Chromium: `npm run test:browser`. `--install` fetches one by apt-get where none is
// found; `--grep=PATTERN` chooses tests, as in mocha. Where no browser can be had, a line says NOT RUN.
import { parseArgs } from 'node:util'
import { bundle } from './bundle.js'
import { findChromium, installChromium, withPage } from './chromium.js'
import { serve } from './server.js'

const LONGEST = 30 * 60_000
const EFFORT = Number(process.env.EFFORT ?? 1)
const POLICY = "default-src 'self'; img-src data:"

/** Suites whose code meets the policy of a page. With EFFORT below 1, a page without WebAssembly runs only these. */
const MEET_POLICY = '^(a page|several threads|workers|store: (the contract|model)) '

/**
 * The same suites under different headers of the server. `kernel` is the kernel that the page must choose, and
 * `workers` says whether it must start workers; the suites beside this file test both. `grep` chooses tests.
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
    headers: { 'content-security-policy': `${POLICY}; script-src 'self' 'wasm-unsafe-eval'; worker-src 'none'` },
    grep: '^a page '
  },
  {
    name: 'a page whose Content-Security-Policy refuses WebAssembly',
    kernel: 'js',
    workers: true,
    headers: { 'content-security-policy': POLICY },
    grep: EFFORT < 1 ? MEET_POLICY : '' // the first page runs the other suites on both kernels
  }
]

/**
 * Opens a page, and prints its console until the line with the outcome.
 *
 * @returns {Promise<{ passes: number, pending: number, failures: number, errors: number }>} `errors`: those outside of
 *   tests
 */
async function runPage (page, { kernel, workers, headers, grep = '' }, scripts) {
  const { url, close } = await serve(scripts, headers)
  const query = new URLSearchParams({ kernel, workers, grep, effort: EFFORT })
  let errors = 0
  let timer
  try {
    await addSetQuota(page, new URL(url).origin)
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

/** Gives the page a function `setQuota(bytes)` for the quota of its site; without bytes, the quota is the browser's. */
async function addSetQuota (page, origin) {
  const session = await page.context().newCDPSession(page)
  await page.exposeFunction('setQuota', quotaSize =>
    session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize }))
}

const { values: { install, grep } } = parseArgs({ options: { install: { type: 'boolean' }, grep: { type: 'string' } } })
const executable = findChromium() ?? (install && installChromium() ? findChromium() : undefined)
if (executable === undefined) {
  const reason = `No Chromium was found${install ? ', and none could be installed' : '; --install installs one'}.`
  console.log(`NOT RUN: the suites in a browser. ${reason} CHROMIUM=/path/to/it names one.`)
} else {
  const scripts = await bundle()
  const outcomes = []
  for (const kind of PAGES) {
    console.log(`\n# In ${kind.name}\n`)
    const wanted = { ...kind, ...grep && { grep } }
    outcomes.push([kind.name, await withPage(executable, page => runPage(page, wanted, scripts))])
  }
  for (const [name, { passes, pending, failures, errors }] of outcomes) {
    const counts = `${passes} passing, ${pending} skipped, ${failures} failing, ${errors} errors outside of tests`
    console.log(`${counts}: in ${name}, EFFORT=${EFFORT}`)
    if (failures > 0 || errors > 0 || passes === 0) process.exitCode = 1
  }
}
