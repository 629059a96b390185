// Commands about the blobs in a store.

import { selection } from './collections.js'
import {
  bytes, define, filledText, flag, json, output, range, rangeExcludes, readStore, writeStore
} from './options.js'
import { integerFrom, oneOf } from '../line/values.js'

const ORDERS = /** @type {const} */ (['hash', 'created', 'used'])
const MOST_BLOBS = 999_999_999
const NAMES_NOTE = 'CID may be a tag, or CID/NAME, which is a member of a collection or manifest.'

export const add = define({
  summary: 'put files, folders or stdin into a store',
  operands: '[FILE...]',
  options: {
    ...writeStore,
    tag: filledText('NAME', 'tag the blob in the same step, so that gc keeps it; for one FILE only'),
    expect: filledText('CID', 'fail unless the blob has this CID; if the store has it already, read nothing'),
    reference: flag('keep only the hash tree, and read the bytes from FILE whenever they are needed'),
    recursive: flag('put folders, each as a collection of its files', 'r'),
    manifest: flag('make a manifest of each folder, with media types, and print its CID'),
    ...selection,
    known: filledText('FILE', 'a file that remembers which files were read, so that unchanged ones are not read again'),
    'skip-errors': flag('leave out files and folders that cannot be put, instead of failing'),
    bytes,
    json
  },
  excludes: { expect: ['reference', 'recursive'] },
  requires: {
    include: 'recursive',
    ignore: 'recursive',
    top: 'recursive',
    known: 'recursive',
    manifest: 'recursive',
    'skip-errors': 'recursive'
  },
  notes: [
    'Without FILE, or with -, reads stdin. Prints a line for each FILE: its CID, its size, whether the blob is new ' +
    'or already there, and the file name. A missing store is made, unless nothing could be put. A blob that does not ' +
    'arrive completely is not kept.',
    'With --recursive, FILE is a folder, and its CID is the one that sendme gives it. Links and empty folders are ' +
    'left out. --tag keeps all files. A warning lists names that get -r will refuse: names with a special meaning on ' +
    'some system, such as aux, and names that some system does not distinguish, such as A and a.',
    'With --skip-errors, prints a line for each file or folder that cannot be read, or whose name is not UTF-8 or ' +
    'has a backslash, puts all others, and exits with 1.',
    'With --manifest, the CID is that of a manifest, the web form of a folder: see serve. Its paths begin ' +
    'below the folder, unless --top is given, and index.html is also at /. --tag names a sequence of the manifest ' +
    'and its files.'
  ],
  examples: [
    'baobox add README.md', 'tar c docs | baobox add --tag docs', 'baobox add -r docs --tag docs --ignore "*.log"',
    'baobox add -r --manifest public --tag site'
  ]
})

export const concatBlobs = define({
  summary: 'join several blobs of a store to one new blob',
  operands: 'CID...',
  options: {
    ...writeStore,
    tag: filledText('NAME', 'tag the new blob in the same step, so that gc keeps it'),
    bytes,
    json
  },
  notes: [
    'Prints a line for the joined blob: its CID, its size, and whether it is new or already there. The others stay. ' +
    'The bytes of all blobs are verified. The tree of the first blob is reused; those of the others are computed ' +
    'again. ' + NAMES_NOTE
  ],
  examples: ['baobox concat part1 part2 --tag whole']
})

export const get = define({
  summary: 'write a blob of a store, or a range of it, to a file',
  operands: 'CID [OUTPUT]',
  options: {
    ...readStore,
    output,
    ...range,
    recursive: flag('write the files of a collection or manifest into the folder OUTPUT', 'r'),
    update: flag('bring the folder up to date: replace the files that differ, and leave all others as they are'),
    reflink: flag('clone large files instead of copying them, if the disk can'),
    link: flag('hard-link large files to those of the store: changing one damages the store')
  },
  excludes: { ...rangeExcludes, recursive: ['start', 'end', 'count'], link: ['reflink'] },
  requires: { link: 'recursive', reflink: 'recursive', update: 'recursive' },
  notes: [
    'Without OUTPUT, or with -, writes to stdout. ' +
    'Every byte is verified against the CID before it is written. A file is replaced once all bytes are there; ' +
    'after an error it is unchanged. ' + NAMES_NOTE,
    'With --recursive, names that could lead out of the folder are refused before anything is written. No existing ' +
    'file is replaced, unless --update is given: then files that are right already stay untouched, and so do files ' +
    'that are not of the collection.'
  ],
  examples: [
    'baobox get bafkr4i... README.md', 'baobox get bafkr4i... --start 1MiB --end 2MiB | sha256sum',
    'baobox get -r bagaac... downloads'
  ]
})

export const cat = define({
  summary: 'write blobs of a store to stdout, one after the other',
  operands: 'CID...',
  options: { ...readStore },
  notes: ['Every byte is verified before it is written. The command stops at the first error. ' + NAMES_NOTE],
  examples: ['baobox cat bafkr4i...', 'baobox cat part1 part2 | tar x', 'baobox cat bagaac.../docs/README.md']
})

export const ls = define({
  summary: 'list the blobs of a store, or the names in a collection or manifest',
  operands: '[CID]',
  options: {
    ...readStore,
    long: flag('also print the size, how much is present, and the times of creation and last use', 'l'),
    order: { value: 'ORDER', help: `${ORDERS.join(', ')}; default: hash`, read: oneOf(ORDERS) },
    reverse: flag('the last one first', 'r'),
    limit: { value: 'N', help: 'list at most N blobs', read: integerFrom(1, MOST_BLOBS) },
    bytes,
    json
  },
  notes: [
    'Prints one CID per line. Times are in UTC. The CID of a collection that a tag names begins with bagaac. ' +
    'A size with a question mark is the claim of a sender and not proven yet.',
    'With CID, prints the names in the collection, or the paths of the manifest; with --long also the CID and the ' +
    'size of each, with --json also the media type, if there is one. ' +
    'Characters that would control a terminal are printed as \\xHH or \\uHHHH. ' + NAMES_NOTE
  ],
  examples: ['baobox ls --long', 'baobox ls --long --order created --reverse --limit 10', 'baobox ls bagaac...']
})

export const stat = define({
  summary: 'print the state of blobs in a store, or how much is in the store',
  operands: '[CID...]',
  options: { ...readStore, bytes, json },
  notes: [
    'Without CID, prints how many blobs, bytes and tags the store has. Of a collection or manifest, also prints how ' +
    'many files and bytes it has, and how many of its members are absent or partial. ' + NAMES_NOTE
  ],
  examples: ['baobox stat bafkr4i...', 'baobox stat --json bafkr4i...']
})

export const has = define({
  summary: 'tell whether blobs are complete in a store',
  operands: 'CID...',
  options: {
    ...readStore,
    recursive: flag('look at the members of each collection, manifest or other sequence of hashes, too', 'r'),
    json
  },
  notes: ['Prints complete, partial or absent for each CID. Exits with 1 unless all are complete. ' + NAMES_NOTE],
  examples: ['baobox has bafkr4i... && echo here', 'baobox has -r photos']
})

export const missing = define({
  summary: 'print which bytes of a blob are missing in a store',
  operands: 'CID',
  options: {
    ...readStore,
    ...range,
    recursive: flag('look for the members that a collection, manifest or other sequence of hashes lacks', 'r'),
    json
  },
  excludes: { ...rangeExcludes, recursive: ['start', 'end', 'count'] },
  notes: [
    'Prints a line for each range: its first byte and its length, as slice takes them. ' +
    'Prints nothing if the blob is complete.',
    'With --recursive, prints a line for each member that is not complete: its CID, absent or partial, and its name. ' +
    'If the blob itself is not complete, prints only the line for that. ' + NAMES_NOTE
  ],
  examples: ['baobox missing bafkr4i...', 'baobox missing -r photos']
})

export const exportBlobs = define({
  summary: 'write blobs as a CAR archive',
  operands: '[CID...]',
  options: {
    ...readStore,
    output,
    'all-names': flag('also write names that DASL does not have, such as those of SHA2-512')
  },
  notes: [
    'Without CID, writes all whole blobs. CID may be a tag, which means all blobs that it protects. ' +
    'Each blob is verified while it is written. It is one block of the archive, however long it is.'
  ],
  examples: ['baobox export -o all.car', 'baobox export release | ssh host baobox import']
})

export const importBlobs = define({
  summary: 'put the blocks of a CAR archive into a store',
  operands: '[FILE]',
  options: {
    ...writeStore,
    tag: filledText('NAME', 'tag the first root of the archive with NAME, the second with NAME-2, and so on'),
    'skip-unknown': flag('leave out blocks with unknown hash functions, instead of failing'),
    bytes,
    json
  },
  notes: [
    'Without FILE, or with -, reads stdin. Each block is compared with its CID before it is kept. ' +
    'After an error, the blocks before it are kept. A missing store is made.'
  ],
  examples: ['baobox import all.car']
})

export const rm = define({
  summary: 'delete blobs from a store',
  operands: 'CID...',
  options: { ...writeStore, force: flag('also delete blobs that a tag names; the tag stays'), json },
  notes: ['Deletes only the given blobs. To delete every blob that no tag names, use gc. ' + NAMES_NOTE],
  examples: ['baobox rm bafkr4i...']
})

export const tag = define({
  summary: 'name blobs, so that gc keeps them; list the names',
  operands: '[NAME] [CID]',
  options: {
    ...writeStore,
    hashseq: flag('the blob is a list of 32-byte hashes: the tag also keeps the blobs that these name'),
    delete: flag('delete the tag; the blob stays until gc or rm deletes it'),
    json
  },
  excludes: { delete: ['hashseq'] },
  notes: [
    'Without arguments, prints a line for each tag: its CID, its format and its name. ' +
    'An existing tag is replaced. The blob may be added later. ' + NAMES_NOTE
  ],
  examples: ['baobox tag release bafkr4i...', 'baobox tag', 'baobox tag --delete release']
})
