import neostandard from 'neostandard'
import { LEFT_OUT } from './test/browser/left-out.js'

const MOCHA = ['after', 'afterEach', 'before', 'beforeEach', 'describe', 'it']
/** Globals of Node.js that tests must not use: they run in browsers, too. */
const OF_NODE = ['Buffer', 'process', 'setImmediate', 'clearImmediate', 'global']
/** What in the folder `test` only runs in Node.js, besides the suites of `LEFT_OUT`. */
const NEED_NODE = [
  'browser/', 'bucket/', 'helia/', 'interop/', 'runtimes/', 'heavy.js', 'support/command-line-page.js',
  'support/page-examples.js', 'support/service-worker-file.js', 'support/runtime.js', 'support/program.js',
  'support/program-host.js', 'support/store/worker.js', 'support/store/failed-writes-worker.js'
]

/** Globals that only pages have. */
const OF_PAGES = [
  'HTMLMediaElement', 'ResizeObserver', 'addEventListener', 'dispatchEvent', 'localStorage', 'requestAnimationFrame'
]

export default [
  ...neostandard({ ignores: ['**/node_modules/', 'types/', 'dist/', 'coverage/'] }),
  {
    files: ['bin/web/page/**'],
    languageOptions: { globals: Object.fromEntries(OF_PAGES.map(name => [name, 'readonly'])) }
  },
  {
    files: ['test/**'],
    languageOptions: { globals: Object.fromEntries(MOCHA.map(name => [name, 'readonly'])) }
  },
  {
    files: ['test/**'],
    ignores: [...NEED_NODE, ...Object.keys(LEFT_OUT)].map(path => `test/${path}${path.endsWith('/') ? '**' : ''}`),
    rules: { 'no-restricted-globals': ['error', ...OF_NODE] }
  },
  {
    files: ['**/*.js'],
    rules: { '@stylistic/max-len': ['error', { code: 120, ignoreUrls: true }] }
  }
]
