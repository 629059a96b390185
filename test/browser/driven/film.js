// A browser seeks in a film that two servers give, from one bucket. ffmpeg makes the film; without it, nothing runs.
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { FakeS3Server, KEYS } from '../../support/bucket/fake-s3-server.js'
import { Folder } from '../../support/program.js'
import { skipAloud } from '../../support/vectors.js'

const run = promisify(execFile)
/** The film has one colour for each ten seconds, and noise, so that it is long. */
const COLOURS = { red: [255, 0, 0], lime: [0, 255, 0], blue: [0, 0, 255], yellow: [255, 255, 0] }
const PART_SECONDS = 10
const FILTERS = 'noise=alls=30:allf=t'

/** @param {import('../engines/index.js').Browser} browser */
export function testFilm (browser) {
  if (spawnSync('ffmpeg', ['-version']).status !== 0) return skipAloud('a film in a bucket', 'ffmpeg is not installed')
  describe('a film in a bucket', () => {
    const s3 = new FakeS3Server()
    const servers = []
    let folder, page, cid

    before(async () => {
      await s3.start()
      folder = new Folder(await mkdtemp(join(tmpdir(), 'baobox-film-')))
      await makeFilm(folder.at('film.webm'))
      const { out } = await folder.run(['add', 'film.webm', '--tag', 'film'], { env: variables() })
      cid = out.split(' ')[0]
      for (const options of [[], ['--redirect']]) servers.push(await serve(options))
      page = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html>'))
      await once(page.listen(0, '127.0.0.1'), 'listening')
    })
    beforeEach(() => browser.open(`http://127.0.0.1:${page.address().port}/`))
    after(async () => {
      for (const { child } of servers) child.kill('SIGKILL')
      page?.close()
      s3.stop()
      await folder?.remove()
    })

    const variables = () => ({ ...KEYS, AWS_ENDPOINT_URL_S3: s3.endpoint, BAOBOX_STORE: 's3://bucket/films' })

    async function serve (options) {
      const child = folder.start(['serve', '--port', '0', ...options], { env: variables() })
      const [line] = await once(child.stdout, 'data')
      return { child, url: `${line}`.split('  ')[0] }
    }

    for (const [i, what] of ['whose bytes a server verifies', 'whose bytes come from the bucket'].entries()) {
      it(`is shown from the middle, ${what}`, async () => {
        const times = [25, 5, 35, 15]
        const seen = await browser.evaluate(seekIn, `${servers[i].url}/blobs/${cid}`, times)
        expect(seen.error).to.equal(undefined)
        expect(seen.duration).to.be.within(39, 41)
        const colours = Object.values(COLOURS)
        for (const [at, colour] of seen.colours.entries()) {
          const wanted = colours[Math.floor(times[at] / PART_SECONDS)]
          const isLike = colour.every((part, channel) => (part > 127) === (wanted[channel] > 127))
          expect(isLike, `${times[at]} s: ${colour}`).to.equal(true)
        }
      })
    }

    it('is read by the browser itself only where it was redirected', async () => {
      const requests = () => s3.fake.requests.splice(0).filter(text => text.includes('X-Amz-Signature')).length
      requests()
      await browser.evaluate(seekIn, `${servers[0].url}/blobs/${cid}`, [5])
      expect(requests()).to.equal(0)
      await browser.evaluate(seekIn, `${servers[1].url}/blobs/${cid}?again`, [5])
      expect(requests()).to.be.above(0)
    })
  })
}

/** @param {string} path */
async function makeFilm (path) {
  const inputs = Object.keys(COLOURS).flatMap(colour =>
    ['-f', 'lavfi', '-i', `color=${colour}:size=320x180:rate=10:duration=${PART_SECONDS}`])
  const graph = `concat=n=${Object.keys(COLOURS).length}:v=1,${FILTERS}`
  const codec = ['-c:v', 'libvpx', '-b:v', '2M', '-deadline', 'realtime', '-cpu-used', '8', '-g', '20']
  await run('ffmpeg', ['-loglevel', 'error', ...inputs, '-filter_complex', graph, ...codec, path])
}

/** Runs in the page: seeks to some times, and returns the mean colour of each frame. */
async function seekIn (url, times) {
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
  try {
    await next('loadeddata')
    const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 })
    const context = canvas.getContext('2d')
    const colours = []
    for (const time of times) {
      const seeked = next('seeked')
      video.currentTime = time
      await seeked
      context.drawImage(video, 0, 0, 1, 1)
      colours.push([...context.getImageData(0, 0, 1, 1).data.subarray(0, 3)])
    }
    return { colours, duration: video.duration }
  } catch (error) {
    return { error: error.message }
  } finally {
    video.remove()
  }
}
