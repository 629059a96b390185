// The pages in which the suites run.

export const EFFORT = Number(process.env.EFFORT ?? 0.2)
export const { SEED } = process.env
export const ALL = process.env.ALL === '1'

const POLICY = "default-src 'self'; img-src data:"

/** The suites that differ most between engines. With EFFORT below 1, Firefox and WebKitGTK run only these. */
const DIFFER = '^(a page|several threads|workers|an HTTP handler|store: (in a service worker|Blobs)) '

/** The suites that depend on the policy of a page. With EFFORT below 1, a page without WebAssembly runs only these. */
const MEET_POLICY = '^(a page|several threads|workers|store: (the contract|model)) '

/**
 * The same suites with different headers of the server. `kernel` is the kernel that the page must choose, and
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
    grep: EFFORT < 1 ? MEET_POLICY : '' // with ALL=1, the first page runs the other suites on both kernels
  }
]

const [PLAIN] = PAGES

/** @param {string} engine  in ENGINES @returns {typeof PAGES} */
export const pagesOf = engine => EFFORT < 1 && engine !== 'chromium' ? [{ ...PLAIN, grep: DIFFER }] : PAGES
