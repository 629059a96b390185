import neostandard from 'neostandard'

export default [
  ...neostandard({ ignores: ['node_modules/', 'types/', 'coverage/', 'bench/node_modules/'] }),
  {
    rules: {
      'no-unused-vars': ['error', { argsIgnorePattern: '^_' }]
    }
  }
]
