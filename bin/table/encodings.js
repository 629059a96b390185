// Commands about encodings: those of bao, with the same arguments, and receive.

import {
  bytes, define, flag, groupLog, json, output, range, rangeExcludes, store, text, writeStore
} from './options.js'
import { BAO_LOG } from '../commands/encodings/endings.js'

const ENDINGS_NOTE =
  'Where no --group-log is given, the ending of the name of the outboard decides: .obao4 means group log 4 without ' +
  'the size before it, and so on up to .obao16; .obao and other names mean what bao writes.'
const INPUT_NOTE =
  'INPUT is a file, or - for stdin, or the CID or tag of a blob in a store; ./NAME is always a file.'
const GROUPS_NOTE = 'bao reads and writes group log 0 only.'
const AFTER_ERROR_NOTE =
  'After an error, stdout has the bytes that were verified before it; a file is replaced only if all bytes are right.'

export const encode = define({
  summary: 'write the combined encoding of a blob: its bytes, and the hash tree between them',
  operands: 'INPUT [OUTPUT]',
  options: {
    outboard: text('FILE', 'write only the hash tree, into this file, as bao does'),
    'group-log': groupLog(BAO_LOG),
    store
  },
  notes: [INPUT_NOTE + ' Without OUTPUT, or with -, writes to stdout.', ENDINGS_NOTE, GROUPS_NOTE],
  examples: ['baobox encode video.mp4 video.bao', 'baobox encode video.mp4 --outboard video.obao']
})

export const decode = define({
  summary: 'verify an encoding while it is read, and write the bytes it proves',
  operands: 'HASH [INPUT] [OUTPUT]',
  options: {
    outboard: text('FILE', 'INPUT is the blob itself, and FILE its hash tree'),
    start: range.start,
    count: { ...range.count, help: 'bytes to write; default: up to the end of the blob' },
    'group-log': groupLog(BAO_LOG),
    store
  },
  notes: [
    'HASH is 64 hexadecimal digits, a CID, or a tag of a store. ' +
    'Without INPUT or with -, reads stdin; without OUTPUT or with -, writes to stdout.',
    ENDINGS_NOTE,
    AFTER_ERROR_NOTE
  ],
  examples: ['baobox decode HASH video.bao video.mp4', 'baobox decode HASH video.mp4 --outboard video.obao | player']
})

export const outboard = define({
  summary: 'write the hash tree of a blob, so that slices need not hash the blob again',
  operands: 'INPUT [OUTPUT]',
  options: {
    'group-log': groupLog(BAO_LOG),
    'no-header': flag('leave out the size of the blob at the beginning'),
    output,
    store
  },
  notes: [
    INPUT_NOTE + ' Without OUTPUT, or with -, writes to stdout.',
    'The output is the size in 8 bytes, then all pairs of chaining values in pre-order, as bao writes them.',
    ENDINGS_NOTE + ' An option that contradicts the ending is refused, because readers go by the name. ' +
    'Put FILE.obao4 beside FILE on an HTTP server, and baobox fetch verifies FILE from there.',
    GROUPS_NOTE
  ],
  examples: [
    'baobox outboard video.mp4 video.obao',
    'baobox outboard video.mp4 video.mp4.obao4'
  ]
})

export const slice = define({
  summary: 'cut out the part of an encoding or a blob that proves a range of it',
  operands: 'START COUNT [INPUT] [OUTPUT]',
  options: {
    outboard: text('FILE', 'INPUT is the blob itself, and FILE its hash tree, with or without a header'),
    'group-log': groupLog(BAO_LOG),
    store
  },
  notes: [
    'INPUT is a combined encoding, or with --outboard the blob itself: a file, or - for stdin. ' +
    'Or it is the CID or tag of a blob in a store; ./NAME is always a file. ' +
    'The slice begins with the size of the blob. It is verified while it is written.',
    ENDINGS_NOTE,
    GROUPS_NOTE
  ],
  examples: [
    'baobox slice 10MiB 1MiB video.mp4 part.slice --outboard video.obao',
    'baobox slice 0 64KiB bafkr4i... | ssh host baobox decode-slice bafkr4i... 0 64KiB'
  ]
})

export const decodeSlice = define({
  summary: 'verify a slice as it arrives, and write the bytes it proves',
  operands: 'HASH START COUNT [INPUT] [OUTPUT]',
  options: { 'group-log': groupLog(BAO_LOG), store },
  notes: [
    'HASH is 64 hexadecimal digits, a CID, or a tag of a store. ' +
    'Without INPUT or with -, reads stdin; without OUTPUT or with -, writes to stdout. ' +
    'START, COUNT and the group log must be those that the slice was cut with.',
    AFTER_ERROR_NOTE
  ],
  examples: ['baobox decode-slice bafkr4i... 10MiB 1MiB part.slice part.bin']
})

export const receive = define({
  summary: 'verify a slice as it arrives, and keep the bytes it proves in a store',
  operands: 'CID [INPUT]',
  options: { ...writeStore, ...range, bytes, json },
  excludes: rangeExcludes,
  notes: [
    'Without INPUT, or with -, reads stdin. ' +
    'The range must be the one that the slice was cut with, and its group log must be 4. ' +
    'The store keeps only whole groups of 16 KiB, except at the end of the blob. ' +
    'After an error, it keeps the groups that were verified before; the rest can follow later.',
    'Prints the CID, how many missing bytes were received, and whether the blob is complete now. ' +
    'A missing store is made.'
  ],
  examples: [
    'baobox receive bafkr4i... part.slice --end 1MiB',
    'ssh host baobox encode bafkr4i... --group-log 4 | baobox receive bafkr4i...'
  ]
})
