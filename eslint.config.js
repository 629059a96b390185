import neostandard from 'neostandard'
import { LEFT_OUT } from './test/browser/left-out.js'

const MOCHA = ['after', 'afterEach', 'before', 'beforeEach', 'describe', 'it']
/** What tests must do without: they run in browsers, too. */
const OF_NODE = ['Buffer', 'process', 'setImmediate', 'clearImmediate', 'global']
/** Of the folder test, and no tests. */
const NEED_NODE = ['browser/', 'helia/', 'interop/', 'runtimes/', 'support/runtime.js', 'support/program.js', 'support/store/worker.js', 'support/store/failed-writes-worker.js']

export default [
  ...neostandard({ ignores: ['**/node_modules/', 'types/', 'coverage/'] }),
  {
    files: ['test/**'],
    languageOptions: { globals: Object.fromEntries(MOCHA.map(name => [name, 'readonly'])) }
  },
  {
    files: ['test/**'],
    ignores: [...NEED_NODE, ...Object.keys(LEFT_OUT)].map(path => `test/${path}${path.endsWith('/') ? '**' : ''}`),
    rules: { 'no-restricted-globals': ['error', ...OF_NODE] }
  }
]
