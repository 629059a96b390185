// Runs the recipes of docs/recipes.md with the libraries that they are for: `npm run test:readers`. The packages are
// installed in this folder only.
import { fileURLToPath } from 'node:url'
import { describeExamples } from '../support/page-examples.js'
import { writeFiles } from './files.js'

const from = fileURLToPath(new URL('node_modules', import.meta.url))

describe('libraries that read files in parts', () => {
  const packages = ['hyparquet', 'pmtiles', '@zip.js/zip.js', 'wa-sqlite']
  const outputs = {
    'A Parquet file': "[ { name: 'city 999' } ]\n",
    'A map in one file': 'tile 2\n',
    'One entry of an archive': 'text of b.txt\n',
    'A database': "[ 'note 700' ]\n"
  }
  describeExamples('docs/recipes.md', { packages, from, prepare: writeFiles, outputs })
})
