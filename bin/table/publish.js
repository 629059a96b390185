// The command that writes a site for static hosts.

import { selection } from './collections.js'
import { bucketServer, bytes, define, filledText, filledTexts, json } from './options.js'

const { include, ignore } = selection

export const publish = define({
  summary: 'write a folder as a site that any static hosts can serve, verified in the browser',
  operands: 'DIR',
  options: {
    out: filledText('SITE', 'the folder where the site is written, or a bucket, s3://BUCKET/PREFIX'),
    mirror: filledTexts('URL', 'another host of the published folder, or a URL with {cid} in it; may be repeated'),
    fallback: filledText('FILE', 'the file of DIR that answers for paths without a file, as for an application with ' +
      'one page; default: 404.html, with the status 404'),
    include,
    ignore,
    ...bucketServer,
    bytes,
    json
  },
  notes: [
    'SITE gets the files of DIR under blobs/, each named by its CID, with an outboard (.obao4) beside those above ' +
    '16 KiB; the manifest, which has their paths and media types; sw.js, a service worker that has the root of the ' +
    'site; and index.html, which starts the worker. Then the worker answers for all paths below SITE, with files of ' +
    'DIR that it fetches from any of the hosts and verifies. DIR must have an index.html, and no files in its ' +
    'folders blobs, collections, ipfs, v2 and .well-known/rasl, whose paths belong to blobs. Put SITE on a host, in ' +
    'any folder. A copy of blobs/ on another host is a mirror.',
    'Run it again after a change: only new files are written, and visitors get the new version when its files are ' +
    'there. The files of older versions stay, for visitors who have these open. 404.html is the same page as ' +
    'index.html: many hosts show it for all other paths, so that links into the site work for new visitors.',
    'A host can withhold files, but not change them. Only the host from which visitors load index.html and sw.js ' +
    'can do more: it can replace these two files. See docs/security.md, "Sites in service workers".',
    'Browsers have service workers only over https: and on localhost. Mirrors on other origins must let pages read ' +
    'their files: Access-Control-Allow-Origin: *. The access key of a bucket is in $AWS_ACCESS_KEY_ID and ' +
    '$AWS_SECRET_ACCESS_KEY.'
  ],
  examples: [
    'baobox publish public --out site',
    'baobox publish public --out site --mirror https://b.example/site/ --mirror https://c.example/{cid}',
    'baobox publish public --out s3://my-bucket/site --region eu-central-1'
  ]
})
