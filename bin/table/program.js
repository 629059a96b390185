// Commands about baobox itself.

import { SHELLS } from '../line/completion.js'
import { integerFrom } from '../line/values.js'
import { define, flag, json, store } from './options.js'

export const bench = define({
  summary: 'measure how fast this machine hashes, verifies and stores; takes less than a minute',
  operands: '',
  options: {
    store: { ...store, help: 'measure on the disk of this folder; default: the folder for temporary files' }, json
  },
  notes: ['Prints megabytes (10^6 bytes) per second. Deletes everything that it has written.'],
  examples: ['baobox bench']
})

export const demo = define({
  summary: 'show what baobox does, on one file',
  operands: '[FILE]',
  options: {
    store: { ...store, help: 'put the file into this store and keep it; default: a temporary store' },
    web: flag('serve a page that shows it: a film from three hosts, one of which lies; the tree of a file; a store'),
    port: { value: 'PORT', help: '0 for any free port; default: 4780', short: 'p', read: integerFrom(0, 65_535) }
  },
  excludes: { web: ['store'] },
  requires: { port: 'web' },
  notes: [
    'Without FILE, uses the program that runs baobox, usually node: it is always there, and large enough to measure. ' +
    'The file is read once before anything is measured, so that it is in memory. ' +
    'Each figure comes from one run and includes reading the file.',
    'With --web, prints the URL of the page. The page, and the three hosts on ports of their own, can only be ' +
    'reached from this machine, and ask nobody else.'
  ],
  examples: ['baobox demo', 'baobox demo video.mp4', 'baobox demo --web']
})

export const help = define({
  summary: 'print this help, or the help of a command',
  operands: '[COMMAND]',
  options: {},
  examples: ['baobox help', 'baobox help slice']
})

export const completion = define({
  summary: 'print a script that completes the command line in a shell',
  operands: 'SHELL',
  choices: SHELLS,
  options: {},
  notes: ['SHELL is bash, zsh or fish. A comment in the script says how to use it.'],
  examples: ['eval "$(baobox completion bash)"', 'baobox completion fish | source']
})
