// Commands about baobox itself.

import { SHELLS } from '../line/completion.js'
import { define, json, store } from './options.js'

export const bench = define({
  summary: 'measure how fast this machine hashes, verifies and stores; takes less than a minute',
  operands: '',
  options: { store: { ...store, help: 'measure on the disk of this folder; default: that of temporary files' }, json },
  notes: ['Prints megabytes (10^6 bytes) a second. What it writes, it deletes.'],
  examples: ['baobox bench']
})

export const demo = define({
  summary: 'show what baobox does, on one file',
  operands: '[FILE]',
  options: { store: { ...store, help: 'put the file into this store and keep it; default: a temporary store' } },
  notes: [
    'Without FILE, uses the program that runs baobox, node itself: it is always there, and large enough to measure. ' +
    'The file is read once before anything is measured, so that it is in memory. ' +
    'Each figure is of a single run and includes reading the file.'
  ],
  examples: ['baobox demo', 'baobox demo video.mp4']
})

export const help = define({
  summary: 'print the help, or that of a command',
  operands: '[COMMAND]',
  options: {},
  examples: ['baobox help', 'baobox help slice']
})

export const completion = define({
  summary: 'print a script that completes the command line in a shell',
  operands: 'SHELL',
  choices: SHELLS,
  options: {},
  notes: ['SHELL is bash, zsh or fish. The script itself says how it is used.'],
  examples: ['eval "$(baobox completion bash)"', 'baobox completion fish | source']
})
