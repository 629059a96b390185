// Commands over the network.

import { filled, integerFrom, parseSize } from '../line/values.js'
import { bytes, define, flag, json, range, rangeExcludes, text, writeStore } from './options.js'

const MOST_MIRRORS = 64
const noRelays = flag('use no relay and no address lookup of iroh: peers are reached by their addresses alone')

export const fetch = define({
  summary: 'download a blob from mirrors, verified, into a store or a file',
  operands: 'SOURCE [OUTPUT]',
  options: {
    from: {
      value: 'URL',
      help: 'a mirror, or the ticket of a peer; may be given several times; {cid} and {hex} in it stand for the name ' +
        'of the blob',
      isMany: true,
      read: /** @returns {string[]} */ given => [filled('URL')(given)]
    },
    cid: { ...text('CID', 'the blob at the URL that is given as SOURCE'), read: filled('CID') },
    ...writeStore,
    tag: { ...text('NAME', 'tag the blob in the store, so that gc keeps it'), read: filled('NAME') },
    ...range,
    'no-relays': noRelays,
    parallel: { value: 'N', help: 'mirrors to ask at once; default: 4', read: integerFrom(1, MOST_MIRRORS) },
    bytes,
    json
  },
  excludes: rangeExcludes,
  notes: [
    'SOURCE is the CID of the blob, with mirrors in --from; or the URL of one mirror, which has the CID in its path ' +
    'or beside it in --cid; or a RASL URL, rasl://CID/?hint=HOST. A mirror is a server such as baobox serve, or any HTTP server that has an outboard ' +
    'beside the blob. None is trusted: one that sends wrong bytes is dropped.',
    'SOURCE may also be a ticket of iroh, as baobox serve --iroh and sendme print it. If it is for a collection, the ' +
    'members come, too; baobox get -r then writes them. Tickets need npm install @number0/iroh, and a store that no ' +
    'other process has open.',
    'Without OUTPUT, keeps the blob in the store; a missing store is made. OUTPUT may be -, which is stdout. ' +
    'A download that was interrupted goes on when it is run again; until then a file is kept in OUTPUT.part. ' +
    'Prints what was received, then what each mirror has brought.'
  ],
  examples: [
    'baobox fetch http://localhost:4700/bafkr4i...',
    'baobox fetch bafkr4i... video.mp4 --from https://a.example/{cid} --from https://b.example/v.mp4',
    'baobox fetch blobab... --tag photos'
  ]
})

export const serve = define({
  summary: 'let others read the blobs of a store over HTTP, verified',
  operands: '',
  options: {
    ...writeStore,
    port: { value: 'PORT', help: '0 for any that is free; default: 4700', short: 'p', read: integerFrom(0, 65_535) },
    host: {
      ...text('HOST', 'a name or address of this machine; 0.0.0.0 for all; default: localhost'), read: filled('HOST')
    },
    socket: { ...text('PATH', 'listen at a Unix socket instead'), read: filled('PATH') },
    'allow-tags': flag('let tags be used as names'),
    list: flag('let everybody list the blobs'),
    'put-token': {
      ...text('TOKEN', 'let those upload who send this token; default: $BAOBOX_PUT_TOKEN'), read: filled('TOKEN')
    },
    'max-put': { value: 'N', help: 'bytes of one upload; default: 1GiB', read: parseSize },
    iroh: flag('let peers of iroh get blobs, too, such as sendme; needs npm install @number0/iroh'),
    ticket: {
      value: 'CID',
      help: 'print a ticket of the blob, or of the collection and its members; a tag may stand for it; may be given ' +
        'several times',
      isMany: true,
      read: /** @returns {string[]} */ given => [filled('CID')(given)]
    },
    'no-relays': noRelays,
    quiet: flag('print no line for each request', 'q'),
    json
  },
  excludes: { socket: ['port', 'host'] },
  requires: { ticket: 'iroh', 'no-relays': 'iroh' },
  notes: [
    'Prints where it listens, then a line for each request that has ended: its status, the bytes sent, the ' +
    'milliseconds, the method and the path. Ends on Ctrl-C and SIGTERM, when the answers under way are sent, or ' +
    'after 10 s. A token on the command line can be seen by other users of the machine: the environment hides it.',
    'With --iroh, also prints the id under which peers reach it, and the tickets.',
    'While it runs, add, receive, fetch, rm, tag and gc have it do their work on this store.',
    'Everybody who can reach it can read every blob whose name they know. See docs/guide.md, "Serve".'
  ],
  examples: [
    'baobox serve', 'baobox serve --host 0.0.0.0 --port 80', 'baobox serve --socket /run/baobox.sock',
    'baobox serve --iroh --ticket photos'
  ]
})
