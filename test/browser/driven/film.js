// A browser seeks in a film that two servers give, from one bucket. ffmpeg makes the film; without it, nothing runs.
// The bucket is that of versitygw, through a gateway for each server. If `npm run test:bucket -- --install` has not
// installed it, the bucket is in this process.
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { BUCKET, ENGINES, REGION, have, start } from '../../bucket/engines.js'
import { FaultProxy } from '../../bucket/fault-proxy.js'
import { FakeS3Server, KEYS } from '../../support/bucket/fake-s3-server.js'
import { Folder } from '../../support/program.js'
import { skipAloud } from '../../support/vectors.js'

const run = promisify(execFile)
/** The film has one colour for each ten seconds, and noise, so that it is long. */
const COLOURS = { red: [255, 0, 0], lime: [0, 255, 0], blue: [0, 0, 255], yellow: [255, 255, 0] }
const PART_SECONDS = 10
/** What a page tells of a film that it could play and seek in. */
const WHOLE = { seconds: Object.keys(COLOURS).length * PART_SECONDS }
const FILTERS = 'noise=alls=30:allf=t'

/** @param {import('../engines/index.js').Browser} browser */
export function testFilm (browser) {
  if (spawnSync('ffmpeg', ['-version']).status !== 0) return skipAloud('a film in a bucket', 'ffmpeg is not installed')
  const isInstalled = isThere('versitygw')
  const title = isInstalled ? `versitygw ${ENGINES.versitygw.version}` : 'this process: versitygw is not installed'
  describe(`a film in a bucket of ${title}`, () => {
    const servers = []
    let bucket, folder, page, cid

    before(async () => {
      bucket = await (isInstalled ? bucketOfVersitygw() : bucketInProcess())
      folder = new Folder(await mkdtemp(join(tmpdir(), 'baobox-film-')))
      await makeFilm(folder.at('film.webm'))
      const { out } = await folder.run(['add', 'film.webm', '--tag', 'film'], { env: bucket.variables[0] })
      cid = out.split(' ')[0]
      for (const [i, options] of [[], ['--redirect']].entries()) servers.push(await serve(options, bucket.variables[i]))
      page = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html>'))
      await once(page.listen(0, '127.0.0.1'), 'listening')
    })
    beforeEach(() => browser.open(`http://127.0.0.1:${page.address().port}/`))
    after(async () => {
      for (const { child } of servers) child.kill('SIGKILL')
      page?.close()
      await bucket?.stop()
      await folder?.remove()
    })

    async function serve (options, env) {
      const child = folder.start(['serve', '--port', '0', ...options], { env })
      const [line] = await once(child.stdout, 'data')
      return { child, url: `${line}`.split('  ')[0] }
    }

    for (const [i, what] of ['whose bytes a server verifies', 'whose bytes come from the bucket'].entries()) {
      it(`is shown from the middle, ${what}`, async () => {
        const seen = await browser.evaluate(seekIn, `${servers[i].url}/blobs/${cid}`, [25, 5, 35, 15].map(frameAt))
        expect(seen).to.deep.equal(WHOLE)
      })
    }

    it('is read by the browser itself only where it was redirected', async () => {
      bucket.takeOwn()
      expect(await browser.evaluate(seekIn, `${servers[0].url}/blobs/${cid}`, [frameAt(5)])).to.deep.equal(WHOLE)
      expect(bucket.takeOwn()).to.equal(0)
      expect(await browser.evaluate(seekIn, `${servers[1].url}/blobs/${cid}?again`, [frameAt(5)])).to.deep.equal(WHOLE)
      expect(bucket.takeOwn()).to.be.above(0)
    })
  })
}

/**
 * @typedef {object} FilmBucket
 * @property {Record<string, string>[]} variables  those of each of two programs
 * @property {() => number} takeOwn  how many requests with a signed URL, as browsers make them, have come since the
 *   last call
 * @property {() => Promise<void> | void} stop
 */

/** @param {string} engine */
function isThere (engine) {
  try {
    have(engine, {})
    return true
  } catch {
    return false
  }
}

/** True for the URL of a request that was signed for somebody else. @param {string} text */
const isSignedUrl = text => text.includes('X-Amz-Signature')

/** @returns {Promise<FilmBucket>} */
async function bucketInProcess () {
  const s3 = new FakeS3Server()
  await s3.start()
  const variables = { ...KEYS, AWS_ENDPOINT_URL_S3: s3.endpoint, BAOBOX_STORE: 's3://bucket/films' }
  return {
    variables: [variables, variables],
    takeOwn: () => s3.fake.requests.splice(0).filter(isSignedUrl).length,
    stop: () => s3.stop()
  }
}

/** Each gateway is behind a proxy that counts. @returns {Promise<FilmBucket>} */
async function bucketOfVersitygw () {
  const { options, stop } = await start('versitygw')
  let own = 0
  const proxies = options.map(({ endpoint }) => new FaultProxy(endpoint))
  const variables = []
  for (const [i, proxy] of proxies.entries()) {
    proxy.faultFor = ({ url }) => {
      if (isSignedUrl(url)) own++
      return undefined
    }
    variables.push({
      AWS_ACCESS_KEY_ID: options[i].accessKeyId,
      AWS_SECRET_ACCESS_KEY: options[i].secretAccessKey,
      AWS_REGION: REGION,
      AWS_ENDPOINT_URL_S3: await proxy.listen(),
      BAOBOX_STORE: `s3://${BUCKET}/films`
    })
  }
  return {
    variables,
    takeOwn () {
      const count = own
      own = 0
      return count
    },
    async stop () {
      await Promise.all(proxies.map(proxy => proxy.close()))
      await stop()
    }
  }
}

/** @param {string} path */
async function makeFilm (path) {
  const inputs = Object.keys(COLOURS).flatMap(colour =>
    ['-f', 'lavfi', '-i', `color=${colour}:size=320x180:rate=10:duration=${PART_SECONDS}`])
  const graph = `concat=n=${Object.keys(COLOURS).length}:v=1,${FILTERS}`
  const codec = ['-c:v', 'libvpx', '-b:v', '2M', '-deadline', 'realtime', '-cpu-used', '8', '-g', '20']
  await run('ffmpeg', ['-loglevel', 'error', ...inputs, '-filter_complex', graph, ...codec, path])
}

/** A time in seconds, and the colour of the film there. @param {number} time */
const frameAt = time => ({ time, colour: Object.values(COLOURS)[Math.floor(time / PART_SECONDS)] })

/** Runs in the page: seeks to some times, and waits at each until the frame has its colour. */
async function seekIn (url, frames) {
  const video = document.createElement('video')
  const next = name => new Promise((resolve, reject) => {
    video.addEventListener(name, resolve, { once: true })
    video.addEventListener('error', () => reject(new Error(video.error.message)), { once: true })
  })
  video.crossOrigin = 'anonymous'
  video.muted = true
  video.preload = 'auto'
  video.src = url
  document.body.append(video)
  const context = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d')
  const mean = () => {
    context.drawImage(video, 0, 0, 1, 1)
    return [...context.getImageData(0, 0, 1, 1).data.subarray(0, 3)]
  }
  try {
    await next('loadeddata')
    for (const { time, colour } of frames) {
      const seeked = next('seeked')
      video.currentTime = time
      await seeked
      // WebKitGTK may still show the frame before.
      const isShown = () => mean().every((part, channel) => (part > 127) === (colour[channel] > 127))
      for (let tries = 0; !isShown(); tries++) {
        if (tries === 200) throw new Error(`at ${time} s is ${mean()}, not ${colour}`)
        await new Promise(resolve => setTimeout(resolve, 50))
      }
    }
    return { seconds: Math.round(video.duration) }
  } catch (error) {
    return { error: error.message }
  } finally {
    video.remove()
  }
}
