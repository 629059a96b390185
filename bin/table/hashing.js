// Commands about hashes: hash, cid, tree.

import { HASH_LEN, MAX_GROUP_LOG } from '../../lib/core/constants.js'
import { integerFrom, parseGroupLog } from '../line/values.js'
import { define, flag, json, output, size, store, text } from './options.js'

const MOST_THREADS = 1024
/** The maximum number of levels that are drawn. They have at most 2^12 leaves. */
const MOST_LEVELS = 12

export const hash = define({
  summary: 'print the BLAKE3 hash of files or of stdin, or check such hashes, as b3sum does',
  operands: '[FILE...]',
  options: {
    check: flag('read hashes and names from each FILE, hash the named files, and compare', 'c'),
    quiet: flag('with --check: print nothing for files that are right'),
    length: size(`bytes of output; default: ${HASH_LEN}`, 'l'),
    seek: size('first byte of the output; default: 0'),
    keyed: flag('keyed hashing: read the key, 32 bytes, from stdin'),
    'derive-key': text('CONTEXT', 'derive keys in this context, instead of hashing plainly'),
    raw: flag('write the bytes of the output, not their hexadecimal digits; for one FILE only'),
    'no-names': flag('print no file names'),
    tag: flag('print lines like: BLAKE3 (FILE) = HASH'),
    'num-threads': {
      value: 'NUM',
      help: 'use at most NUM threads; default, and 0: one for each core',
      read: integerFrom(0, MOST_THREADS)
    },
    'no-mmap': flag('hash on one thread; files are never mapped into memory'),
    json
  },
  excludes: {
    check: ['derive-key', 'keyed', 'length', 'raw', 'tag', 'no-names'],
    keyed: ['derive-key'],
    json: ['raw', 'tag', 'no-names']
  },
  requires: { quiet: 'check' },
  notes: [
    'Without FILE, or with -, reads stdin. ' +
    'Prints a line for each file: the hash, two spaces and the file name. A name with line breaks or backslashes is ' +
    'escaped, and its line begins with a backslash. After a file that fails, goes on with the next, and exits with 1.',
    '--check takes the lines that hash prints, with and without --tag. Exits with 1 if any hash differs.'
  ],
  examples: ['baobox hash README.md', 'baobox hash *.txt > SUMS; baobox hash --check SUMS']
})

export const cid = define({
  summary: 'print the CIDs of files or of stdin',
  operands: '[FILE...]',
  options: {
    convert: flag('the arguments are names, not files: print the CID of a hash, and the hash of a CID'),
    'no-names': flag('print no file names'),
    json
  },
  notes: ['Without FILE, or with -, reads stdin. A CID is the name of a blob in a store. It contains the hash.'],
  examples: ['baobox cid README.md', 'baobox cid --convert bafkr4i...']
})

export const tree = define({
  summary: 'draw the hash tree of a file or a blob, as text or as SVG',
  operands: 'INPUT',
  options: {
    store,
    svg: flag('draw an SVG'),
    output,
    'group-log': {
      value: 'LOG',
      help: `draw leaves of 2^LOG KiB, 0 to ${MAX_GROUP_LOG}; default: the smallest that --depth allows`,
      read: parseGroupLog
    },
    depth: {
      value: 'LEVELS', help: 'draw so many levels below the root; default: 4', read: integerFrom(0, MOST_LEVELS)
    },
    long: flag('print all digits of the chaining values'),
    json
  },
  excludes: { json: ['svg', 'long'], svg: ['long'] },
  notes: [
    'INPUT is a file, or - for stdin, or the CID or tag of a blob in a store; ./NAME is always a file. ' +
    'Shows each node with its chaining value and the range of bytes below it.'
  ],
  examples: ['baobox tree README.md', 'baobox tree video.mp4 --svg -o tree.svg']
})
