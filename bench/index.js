// All benches in one process, or those that the command line names: `npm run bench -- hash verify --quick`.

import { names } from './support/run.js'

const BENCHES = ['hash', 'verify', 'encode']

const unknown = names.filter(name => !BENCHES.includes(name))
if (unknown.length > 0) {
  console.error(`no such bench: ${unknown.join(', ')}; there are ${BENCHES.join(', ')}`)
  process.exit(2)
}
for (const name of names.length > 0 ? names : BENCHES) await import(`./${name}.js`)
