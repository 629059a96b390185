// baobox publish: writes a site for static hosts. Files are named by their hashes, so every host of them is a mirror.

import { readFile, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { forEachOf } from '../../../lib/async/in-order.js'
import { eitherOf } from '../../../lib/source/async-util.js'
import { fromCid, parseRoot, toCid } from '../../../lib/hash/cid.js'
import { outboardLen } from '../../../lib/tree/geometry.js'
import { GROUP_LEN } from '../../../store/interface.js'
import { Manifest, getCollection, putManifest } from '../../../exchange/collections/index.js'
import { importDirectory } from '../../../exchange/collections/node/index.js'
import { routeOf } from '../../../exchange/http/routes.js'
import { Sites } from '../../../exchange/http/sites/sites.js'
import { Failure, UsageError } from '../../terminal/errors.js'
import { formatCount, sizeText } from '../../terminal/format.js'
import { printResult } from '../../terminal/output.js'
import { withProgress } from '../../terminal/progress.js'
import { withTemporaryStore } from '../store/temporary.js'
import { bootstrapPage } from './bootstrap-page.js'
import { targetOf } from './target.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobStore } from '../../../store/index.js' */
/** @import { ProgressListener } from '../../terminal/progress.js' */
/** @import { Run } from '../../types.js' */
/** @import { Target } from './target.js' */

const PACKAGE = new URL('../../../', import.meta.url)
/** Made when the package is packed. */
const WORKER = new URL('dist/service-worker.js', PACKAGE)
/** Where the files are, below the published folder. */
const BLOBS = 'blobs'

/** @type {Run<typeof import('../../table/publish.js').publish>} */
export async function publish ({ values, operands: [source] }, { signal }) {
  const { out, mirror: mirrors = [], include, ignore, fallback } = values
  if (out === undefined) throw new UsageError('missing --out SITE: the folder or bucket where the site is written')
  if (!(await stat(source)).isDirectory()) throw new UsageError(`'${source}' is a file: DIR is a folder`)
  const from = [`${BLOBS}/{cid}`, ...mirrors.map(templateOf)]
  const target = await targetOf(out, { source, ...values })
  const worker = await workerScript()
  await withTemporaryStore(async store => {
    const { site, blobs, files } = await withProgress({ name: source }, onProgress =>
      importSite(store, source, { include, ignore, fallback, signal, onProgress }))
    const size = blobs.reduce((sum, { size }) => sum + size, 0)
    const written = await withProgress({ name: out, size }, onProgress =>
      writeBlobs(store, target, blobs, { signal, onProgress }))
    // The script comes after the blobs, because browsers look for a new version there.
    const options = { site: fallback === undefined ? `${site}` : { cid: `${site}`, fallback }, from }
    const page = bootstrapPage({ title: basename(resolve(source)), site: `${site}` })
    const script = `${worker}\nbaobox.serveVerified(${JSON.stringify(options)})\n`
    await target.replace('sw.js', { text: script, type: 'text/javascript' }, signal)
    const html = { text: page, type: 'text/html; charset=utf-8' }
    for (const name of ['index.html', '404.html']) await target.replace(name, html, signal)
    const text = `${formatCount(files, 'file')}, ${sizeText(values, size)}, ${sizeText(values, written)} written`
    await printResult(values, { cid: `${site}`, files, size, written, from }, `${site}  ${text}`)
  })
}

/**
 * Returns the template of a mirror. The URL of a published folder becomes that of its blobs.
 *
 * @param {string} mirror
 */
function templateOf (mirror) {
  if (!URL.canParse(mirror) || !/^https?:$/.test(new URL(mirror).protocol)) {
    throw new UsageError(`--mirror expected an http: or https: URL, got '${mirror}'`)
  }
  return /\{(cid|hex)\}/.test(mirror) ? mirror : `${mirror.replace(/\/*$/, '')}/${BLOBS}/{cid}`
}

/** Reads the built service worker of the package. */
async function workerScript () {
  try {
    return await readFile(WORKER, 'utf8')
  } catch (cause) {
    throw new Failure("dist/service-worker.js is missing: in a checkout, run 'npm run dist' first", { cause })
  }
}

/**
 * Imports a folder, and makes its manifest.
 *
 * @param {BlobStore} store @param {string} path
 * @param {{ include?: string[], ignore?: string[], fallback?: string, signal: AbortSignal, onProgress: ProgressListener
 * }} options
 * @returns {Promise<{ site: CID, blobs: { cid: CID, size: number }[], files: number }>} each blob once, the manifest
 *   last
 */
async function importSite (store, path, { fallback, signal, ...options }) {
  const { cid, length } = await importDirectory(store, path, { ...options, signal, mode: 'reference', top: '' })
  const manifest = Manifest.fromCollection(await getCollection(store, cid, { signal }))
  const names = new Set([...manifest].map(([path]) => path))
  for (const name of ['index.html', ...fallback === undefined ? [] : [fallback]]) {
    if (!names.has(`/${name}`)) throw new UsageError(`'${path}' has no file '${name}'`)
  }
  for (const name of names) assertReachable(path, name)
  const { cid: site } = await putManifest(store, manifest, { tag: 'site', signal })
  await new Sites(store).get(parseRoot(site)) // throws if it is too long for the worker
  const cids = new Map([...manifest].map(([, { src }]) => [`${src}`, src]))
  const blobs = []
  for (const cid of [...cids.values(), site]) blobs.push({ cid, size: (await store.stat(cid)).size })
  return { site, blobs, files: length }
}

/**
 * Throws if the worker would not look for a file at its path, because the path is one of blobs.
 *
 * @param {string} folder @param {string} path  of a file in it, with a slash at its beginning
 */
function assertReachable (folder, path) {
  try {
    const url = path.split('/').map(encodeURIComponent).join('/')
    if (routeOf(url, { hasSite: true, hasTags: false }).kind === 'mounted') return
  } catch {} // a path like those of blobs, at which there is no blob
  throw new UsageError(`'${folder}' has the file '${path.slice(1)}', but in a site this path belongs to blobs, as ` +
    'those that begin with blobs/, collections/, ipfs/ and v2/ do: rename it, or leave it out with --ignore')
}

/**
 * Writes the blobs that the target lacks, with their outboards.
 *
 * @param {BlobStore} store @param {Target} target @param {{ cid: CID, size: number }[]} blobs  the last one is written
 *   after all others
 * @param {{ signal: AbortSignal, onProgress: ProgressListener }} options
 * @returns {Promise<number>} bytes of the blobs that were written
 */
async function writeBlobs (store, target, blobs, { signal, onProgress }) {
  let done = 0
  let written = 0
  const write = async (/** @type {{ cid: CID, size: number }} */ { cid, size }) => {
    // Each blob has a signal of its own: Node.js warns of a signal to which many requests listen.
    const own = eitherOf(signal, new AbortController().signal)
    const name = `${BLOBS}/${plainName(cid)}`
    const len = outboardLen(size)
    // Whoever finds the blob must find its outboard, so the outboard comes first.
    if (size > GROUP_LEN) {
      const pieces = () => store.outboard(cid, { range: { start: 0, end: len }, signal: own })
      await target.add(`${name}.obao4`, { size: len, pieces }, own)
    }
    const pieces = () => store.get(cid, undefined, { signal: own })
    if (await target.add(name, { size, pieces }, own)) written += size
    done += size
    onProgress({ detail: { done } })
  }
  await forEachOf(blobs.slice(0, -1), target.parallel, write)
  for (const site of blobs.slice(-1)) await write(site)
  return written
}

/** Returns the name by which mirrors are asked for a blob. @param {CID} cid */
const plainName = cid => `${toCid(fromCid(cid))}`
