// For V8 of Node.js 20: has it optimize functions later. A test calls most functions a few times, so in the suites of
// `npm test` a fifth of the processor time went to optimizing. Later versions of Node.js have a quick compiler for
// functions of this kind, and no such flag. Mocha loads this file in each of its processes.
import process from 'node:process'
import { setFlagsFromString } from 'node:v8'

if (process.versions.node.startsWith('20.')) setFlagsFromString('--interrupt-budget=1000000')
