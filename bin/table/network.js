// Commands over the network.

import { integerFrom, parseHeader, parseToken } from '../line/values.js'
import {
  bytes, define, filledText, filledTexts, flag, json, output, range, rangeExcludes, readStore, size, text, writeStore
} from './options.js'

/** @import { Option } from '../types.js' */

const MOST_MIRRORS = 64
const MOST_RETRIES = 1000
const MOST_SECONDS = 86_400
const noRelays = flag('use no relay and no address lookup of iroh: reach peers only at their addresses')

/** @param {string} help @returns {Option<[name: string, value: string][]>} */
const headers = help => ({ value: 'HEADER', help, isMany: true, read: given => [parseHeader(given)] })

export const fetch = define({
  summary: 'download a blob or a collection from mirrors, verified, into a store or files',
  operands: 'SOURCE [OUTPUT]',
  options: {
    from: filledTexts('URL', 'a mirror, the ticket of a peer, or the folder of a store; {cid} and {hex} in a URL are ' +
      'replaced by the name of the blob; may be repeated'),
    cid: filledText('CID', 'the CID of the blob, if SOURCE is a URL without it'),
    ...writeStore,
    tag: filledText('NAME', 'tag the blob in the store, so that gc keeps it'),
    recursive: flag('fetch a collection, or another sequence of hashes, with all its files', 'r'),
    output: { ...output, help: 'the same as OUTPUT' },
    update: flag('with the files of a collection, bring the folder OUTPUT up to date: replace the files that differ'),
    ...range,
    'no-relays': noRelays,
    parallel: {
      value: 'N', help: 'ask at most N mirrors at the same time; default: 4', read: integerFrom(1, MOST_MIRRORS)
    },
    'max-duplicates': {
      value: 'N',
      help: 'add at most N mirrors that servers name in their answers; default: 4',
      read: integerFrom(0, MOST_MIRRORS)
    },
    header: headers("send this header, 'Name: value', to the servers of SOURCE and --from; may be repeated"),
    token: { value: 'TOKEN', help: "the same as --header 'Authorization: Bearer TOKEN'", read: parseToken },
    stall: {
      value: 'SECONDS',
      help: 'give up a request when less than 16 KiB arrive in so many seconds; default: 15',
      read: integerFrom(1, MOST_SECONDS)
    },
    retries: {
      value: 'N', help: 'ask a mirror again after N failures in a row; default: 3', read: integerFrom(0, MOST_RETRIES)
    },
    verbose: flag('at the end, print a line for each mirror on stderr: what it was asked and answered, and its faults'),
    'max-unverified': size('largest blob to download without an outboard; default: 1GiB'),
    bytes,
    json
  },
  excludes: { ...rangeExcludes, recursive: ['start', 'end', 'count'] },
  notes: [
    'SOURCE is one of these: the CID of the blob, with mirrors in --from; the URL of a mirror, with the CID in its ' +
    'path or in --cid; or a RASL URL, rasl://CID/?hint=HOST. A mirror is a server such as baobox serve, or any ' +
    'HTTP server that has an outboard beside the blob. A server without an outboard is asked last, and for the ' +
    'whole blob. No mirror is trusted: one that sends wrong bytes is dropped.',
    'Without an outboard, a blob is proven only when its last byte has arrived. A blob above 16 MiB is written ' +
    'first, and deleted if it is wrong. --max-unverified limits its size; 0 refuses such blobs. The option is for ' +
    'one whole blob, not for a range, a collection or stdout.',
    'Headers, tokens, and the user and password of a URL, https://USER:PASSWORD@HOST/, go only to servers in ' +
    'SOURCE and --from: not to a host in a RASL URL, and not to another origin to which a server redirects or which ' +
    'it names. They are never printed, but other users of the machine can see the command line.',
    'SOURCE may also be a ticket of iroh, as baobox serve --iroh and sendme print it. Tickets need ' +
    'npm install @number0/iroh.',
    'Without OUTPUT, keeps the blob in the store; a missing store is made. With OUTPUT -, writes to stdout. ' +
    'A device or pipe gets the bytes as they arrive, too. To continue an interrupted download, run the command ' +
    'again; until then the folder OUTPUT.part keeps the bytes of a file. A file that has the blob already stays as ' +
    'it is, and nothing is fetched; another one is replaced. Prints how many bytes were received, then how many ' +
    'each mirror has sent.',
    'With --recursive, or with the ticket of a collection, puts all files into the store; with OUTPUT, also writes ' +
    'them into that folder, as get -r does, also with --update. A folder that has all files already stays as it is. ' +
    'Prints a line for each file that is whole, also if the store had it before. A URL means all blobs of its ' +
    'server: the CID in its path is replaced.',
    'With --tag, gc also keeps the bytes of an interrupted download. Until the blob is complete, the tag is called ' +
    'NAME.part, or NAME.part2 if that name is taken.'
  ],
  examples: [
    'baobox fetch http://localhost:4700/bafkr4i...',
    'baobox fetch bafkr4i... video.mp4 --from https://a.example/{cid} --from https://b.example/v.mp4',
    'baobox fetch -r bagaac... --from https://a.example/blobs/{cid} --tag site',
    'baobox fetch -r blobab... -o photos'
  ]
})

export const push = define({
  summary: 'send a blob, a file or a folder to a server that keeps uploads',
  operands: 'SOURCE',
  hasTags: true,
  options: {
    to: filledText('URL', 'the server, such as http://localhost:4700'),
    token: { value: 'TOKEN', help: 'the token that the server wants; default: $BAOBOX_PUT_TOKEN', read: parseToken },
    header: headers("send this header, 'Name: value', to the server; may be repeated"),
    tag: filledText('NAME', 'tag the blob on the server, once it is there; the server must allow that'),
    recursive: flag('send a collection of the store, or another sequence of hashes, with all its files', 'r'),
    parallel: {
      value: 'N', help: 'send at most N blobs at the same time; default: 4', read: integerFrom(1, MOST_MIRRORS)
    },
    ...readStore,
    bytes,
    json
  },
  notes: [
    'SOURCE is a CID, a file or a folder; or a tag, if there is no file or folder of that name. A CID or tag names a ' +
    'blob of the store. A file or folder is sent without a store. A folder is sent as the collection that add -r ' +
    'makes of it: its files first, and then the collection.',
    'A blob that the server has is not sent, so after an interruption run push again. Prints the CID, and how much ' +
    'was sent of how much.',
    'The server may be baobox serve with --put-token, or another that uses baobox/http. An upload has no tag, so the ' +
    'next gc on the server deletes it, unless --tag or somebody tags it there: baobox serve takes tags with ' +
    '--allow-writes. Other users of the machine can see a token on the command line; the environment hides it.',
    'The user and password of a URL are sent as a header, as fetch does. The token of the environment is sent only ' +
    'if neither the URL nor a header has an authorization.'
  ],
  examples: [
    'baobox push video.mp4 --to http://localhost:4700 --token secret',
    'baobox push photos --to https://a.example/files',
    'baobox push -r bagaac... --to http://localhost:4700'
  ]
})

export const serve = define({
  summary: 'let others read the blobs of a store over HTTP, verified',
  operands: '',
  options: {
    ...writeStore,
    port: { value: 'PORT', help: '0 for any free port; default: 4700', short: 'p', read: integerFrom(0, 65_535) },
    host: filledText('HOST', 'a name or address of this machine; 0.0.0.0 for all; default: localhost'),
    socket: filledText('PATH', 'listen at a Unix socket instead'),
    'allow-tags': flag('allow tags in place of CIDs in URLs'),
    list: flag('let everybody list the blobs'),
    redirect: flag('redirect requests for bytes of blobs to the bucket of the store; slices still come from here'),
    origin: filledTexts('URL', 'fetch what the store lacks from this server, keep it and serve it; {cid} or {hex} in ' +
      'the URL is replaced by the name of the blob; may be repeated'),
    quota: size('keep at most N bytes of blobs; delete those without a tag that were not used for the longest time'),
    header: headers("send this header, 'Name: value', to the servers of --origin; may be repeated"),
    site: filledText('CID', 'serve the files of this collection or manifest at /; CID may be a tag'),
    top: text('FOLDER', 'the folder of the site where / begins; default: the only one at the top of a collection'),
    fallback: filledText('FILE', 'the file of the site that answers for paths without a file, such as index.html'),
    'no-sandbox': flag('let the pages of the site use cookies, storage and service workers; for trusted sites only'),
    'put-token': {
      value: 'TOKEN', help: 'allow uploads by everybody who sends TOKEN; default: $BAOBOX_PUT_TOKEN', read: parseToken
    },
    'allow-writes': flag('let TOKEN also set and delete tags, and delete blobs; implies --allow-tags'),
    'max-put': size('most bytes of one upload; default: 1GiB'),
    iroh: flag('also serve peers of iroh, such as sendme; needs npm install @number0/iroh'),
    ticket: filledTexts('CID', 'print a ticket for the blob, or for the collection and its members; CID may be a ' +
      'tag; may be repeated'),
    'no-relays': noRelays,
    quiet: flag('print no line for each request', 'q'),
    json
  },
  excludes: { socket: ['port', 'host'] },
  requires: {
    top: 'site',
    fallback: 'site',
    'no-sandbox': 'site',
    ticket: 'iroh',
    'no-relays': 'iroh',
    quota: 'origin',
    header: 'origin'
  },
  notes: [
    'A blob is at /blobs/CID, a file of a collection at /collections/CID/NAME.',
    'Prints its URL and the store, then a line for each finished request: its status, the bytes sent, the ' +
    'milliseconds, the method and the path. After Ctrl-C or SIGTERM, finishes the answers under way, for at most ' +
    '10 s, and ends. Other users of the machine can see a token on the command line, but not in the environment.',
    'With --site, the paths below / are those of the collection or manifest, without the name of the folder with ' +
    'which add -r begins all names. A folder is served as its index.html, and /about also as about.html. For a path ' +
    'without a file, 404.html answers, if the site has one; or the file of --fallback, for applications of one page. ' +
    '/blobs/..., /collections/... and the other paths for blobs stay as they are. A tag may be set to another CID ' +
    'while the server runs.',
    'Each page of a site runs in a sandbox. Without it, scripts of the site may keep data in the browser for all of ' +
    'this server, and a service worker of the site answers for all paths, also for blobs and after the site is gone. ' +
    'Other collections keep their sandbox.',
    'With --origin, it is a cache in front of other servers, which may be caches, too. It believes none of them: all ' +
    'bytes are verified before they are kept or sent. They are asked in turn, beginning with the one that has helped ' +
    'last. What none of them has is a 404, and no origin is asked for it again for 5 s. If they cannot be asked, ' +
    'the answer is a 502. A missing store is made. Give the cache a store of its own with --store: --quota also ' +
    'deletes blobs that you have put, unless they have a tag. A blob that is larger than --quota is a 507.',
    'With --store s3://BUCKET/PREFIX, several servers may serve one bucket, on one machine or many. With --redirect, ' +
    'clients get the bytes of blobs from the bucket, by URLs that are valid for an hour. The server has not verified ' +
    'these bytes. See docs/bucket.md.',
    'With --iroh, also prints the id under which peers reach the server, and the tickets.',
    'While it runs, it does the work of the commands add, concat, receive, fetch, import, rm, tag, gc and compact ' +
    'for this store.',
    'Everybody who can reach the server can read every blob whose name they know. See docs/guide.md, "Serve".'
  ],
  examples: [
    'baobox serve', 'baobox serve --host 0.0.0.0 --port 80', 'baobox serve --socket /run/baobox.sock',
    'baobox add -r public --tag site && baobox serve --site site', 'baobox serve --site app --fallback index.html',
    'baobox serve --origin https://a.example/{cid} --quota 100GiB --store /var/cache/baobox',
    'baobox serve --iroh --ticket photos', 'baobox serve --store s3://my-blobs/films --redirect'
  ]
})
