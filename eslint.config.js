import neostandard from 'neostandard'

const MOCHA = ['after', 'afterEach', 'before', 'beforeEach', 'describe', 'it']

export default [
  ...neostandard({ ignores: ['**/node_modules/', 'types/', 'coverage/'] }),
  {
    files: ['test/**'],
    languageOptions: { globals: Object.fromEntries(MOCHA.map(name => [name, 'readonly'])) }
  }
]
