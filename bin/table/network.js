// Commands over the network.

import { integerFrom } from '../line/values.js'
import {
  bytes, define, filledText, filledTexts, flag, json, output, range, rangeExcludes, size, writeStore
} from './options.js'

const MOST_MIRRORS = 64
const noRelays = flag('use no relay and no address lookup of iroh: peers are reached by their addresses alone')

export const fetch = define({
  summary: 'download a blob or a collection from mirrors, verified, into a store or files',
  operands: 'SOURCE [OUTPUT]',
  options: {
    from: filledTexts('URL', 'a mirror, the ticket of a peer, or the folder of a store; may be given several times; ' +
      '{cid} and {hex} in a URL stand for the name of the blob'),
    cid: filledText('CID', 'the blob at the URL that is given as SOURCE'),
    ...writeStore,
    tag: filledText('NAME', 'tag the blob in the store, so that gc keeps it'),
    recursive: flag('fetch a collection, or another sequence of hashes, with all its files', 'r'),
    output: { ...output, help: 'the same as OUTPUT' },
    ...range,
    'no-relays': noRelays,
    parallel: { value: 'N', help: 'mirrors to ask at once; default: 4', read: integerFrom(1, MOST_MIRRORS) },
    'max-duplicates': {
      value: 'N',
      help: 'mirrors that servers may add by their answers; default: 4',
      read: integerFrom(0, MOST_MIRRORS)
    },
    'max-unverified': size('bytes to take of a long blob without an outboard; default: 1GiB'),
    bytes,
    json
  },
  excludes: { ...rangeExcludes, recursive: ['start', 'end', 'count'] },
  notes: [
    'SOURCE is the CID of the blob, with mirrors in --from; or the URL of one mirror, which has the CID in its path ' +
    'or beside it in --cid; or a RASL URL, rasl://CID/?hint=HOST. A mirror is a server such as baobox serve, or any ' +
    'HTTP server that has an outboard beside the blob; without an outboard it is the last that is asked, for the ' +
    'whole blob. None is trusted: one that sends wrong bytes is dropped.',
    'Without an outboard, only its last byte proves a blob. A blob above 16 MiB is written first, and deleted when ' +
    'it is wrong. --max-unverified limits its size; 0 refuses such blobs. It goes with one whole blob alone.',
    'SOURCE may also be a ticket of iroh, as baobox serve --iroh and sendme print it. Tickets need ' +
    'npm install @number0/iroh.',
    'Without OUTPUT, keeps the blob in the store; a missing store is made. OUTPUT may be -, which is stdout. ' +
    'A download that was interrupted goes on when it is run again; until then a file is kept in the folder ' +
    'OUTPUT.part. Prints what was received, then what each mirror has brought.',
    'With --recursive, and by the ticket of a collection, all files come into the store, and with OUTPUT from there ' +
    'into that folder, as by get -r. Prints a line for each file that is whole, also for those that were there. A ' +
    'URL stands for all blobs of its server: the CID in its path is replaced.',
    'gc keeps what has come of a blob that has a --tag, also when the download was interrupted: until all is there, ' +
    'the tag is called NAME.part, or NAME.part2 if that name is taken.'
  ],
  examples: [
    'baobox fetch http://localhost:4700/bafkr4i...',
    'baobox fetch bafkr4i... video.mp4 --from https://a.example/{cid} --from https://b.example/v.mp4',
    'baobox fetch -r bagaac... --from https://a.example/blobs/{cid} --tag site',
    'baobox fetch -r blobab... -o photos'
  ]
})

export const serve = define({
  summary: 'let others read the blobs of a store over HTTP, verified',
  operands: '',
  options: {
    ...writeStore,
    port: { value: 'PORT', help: '0 for any that is free; default: 4700', short: 'p', read: integerFrom(0, 65_535) },
    host: filledText('HOST', 'a name or address of this machine; 0.0.0.0 for all; default: localhost'),
    socket: filledText('PATH', 'listen at a Unix socket instead'),
    'allow-tags': flag('let tags be used as names'),
    list: flag('let everybody list the blobs'),
    site: filledText('CID', 'serve the files of this collection at /; a tag may stand for it'),
    'put-token': filledText('TOKEN', 'let those upload who send this token; default: $BAOBOX_PUT_TOKEN'),
    'max-put': size('bytes of one upload; default: 1GiB'),
    iroh: flag('let peers of iroh get blobs, too, such as sendme; needs npm install @number0/iroh'),
    ticket: filledTexts('CID', 'print a ticket of the blob, or of the collection and its members; a tag may stand ' +
      'for it; may be given several times'),
    'no-relays': noRelays,
    quiet: flag('print no line for each request', 'q'),
    json
  },
  excludes: { socket: ['port', 'host'] },
  requires: { ticket: 'iroh', 'no-relays': 'iroh' },
  notes: [
    'A blob is at /blobs/CID, a file of a collection at /collections/CID/NAME.',
    'Prints where it listens, then a line for each request that has ended: its status, the bytes sent, the ' +
    'milliseconds, the method and the path. Ends on Ctrl-C and SIGTERM, when the answers under way are sent, or ' +
    'after 10 s. A token on the command line can be seen by other users of the machine: the environment hides it.',
    'With --site, / and all paths below it are those of the collection or manifest, index.html stands for its ' +
    'folder, and /blobs/..., /collections/... and the other paths for blobs stay as they are. What a tag names may ' +
    'change while it runs. The names that add -r gives begin with the name of the folder, unless --top is empty.',
    'With --iroh, also prints the id under which peers reach it, and the tickets.',
    'While it runs, add, concat, receive, fetch, rm, tag and gc have it do their work on this store.',
    'Everybody who can reach it can read every blob whose name they know. See docs/guide.md, "Serve".'
  ],
  examples: [
    'baobox serve', 'baobox serve --host 0.0.0.0 --port 80', 'baobox serve --socket /run/baobox.sock',
    "baobox add -r photos --top '' --tag photos && baobox serve --site photos",
    'baobox serve --iroh --ticket photos'
  ]
})
