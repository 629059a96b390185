// A browser shows a static site of one CID: a folder is imported into a store, and the store is served.
import { expect } from 'chai'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { importDirectory } from '../../../exchange/collections/node/index.js'
import { serve } from '../../../exchange/http/node/index.js'
import { BlobStore } from '../../../store/index.js'

const STYLED = [0, 102, 51]
const DRAWN = [204, 51, 0]
const rgb = color => `rgb(${color.join(', ')})`

/** The files by path. No URL may lead to the text outside of the site. */
const FILES = {
  'site/index.html': `<!doctype html>
<meta charset="utf-8">
<title>A site – one CID</title>
<link rel="stylesheet" href="styles/main.css">
<h1>Hello</h1>
<p><img src="images/square.svg" alt="a square"></p>
<p><a href="guide">The guide</a></p>
`,
  'site/styles/main.css': `h1 { width: 200px; height: 100px; background: ${rgb(STYLED)}; color: ${rgb(STYLED)} }\n`,
  'site/images/square.svg': `<svg xmlns="http://www.w3.org/2000/svg" width="80" height="60">
<path fill="${rgb(DRAWN)}" d="M0 0h80v60H0z"/></svg>
`,
  'site/guide/index.html': `<!doctype html>
<meta charset="utf-8">
<title>The guide</title>
<link rel="stylesheet" href="../styles/main.css">
<h1>The guide</h1>
`,
  'secret.txt': 'secret'
}

/** Milliseconds in which a browser must paint a loaded page. */
const PAINT_MS = 100_000
const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

const isWhite = color => color.every(part => part === 255)

/** Asks until the answer is the wanted one, or the time is over. Returns the last answer. */
async function eventually (ask, isWanted) {
  const end = Date.now() + PAINT_MS
  while (true) {
    const answer = await ask()
    if (isWanted(answer) || Date.now() > end) return answer
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

/** @param {import('../engines/index.js').Browser} browser */
export function testSite (browser) {
  describe('a static site of one CID', () => {
    let folder
    let store
    let server
    let cid

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'baobox-site-'))
      for (const [path, text] of Object.entries(FILES)) {
        await mkdir(dirname(join(folder, path)), { recursive: true })
        await writeFile(join(folder, path), text)
      }
      store = await BlobStore.open(join(folder, 'store'))
      cid = (await importDirectory(store, join(folder, 'site'), { top: '', tag: 'site' })).cid
      server = await serve(store, { site: cid })
    })
    after(async () => {
      await server?.close({ grace: 0 })
      await store?.close()
      await rm(folder, { recursive: true })
    })

    for (const [place, urlOf] of [
      ['at /', () => `${server.url}/`],
      ['at /collections/{cid}/', () => `${server.url}/collections/${cid}/`]
    ]) {
      it(`shows its first page ${place}, with its stylesheet and its picture`, async () => {
        await browser.open(urlOf())
        const { title, background, picture, points } = await browser.evaluate(lookAtPage)
        expect([title, background]).to.deep.equal(['A site – one CID', rgb(STYLED)])
        expect(picture).to.deep.equal({ naturalWidth: 80, naturalHeight: 60 })
        const colors = await eventually(async () => {
          const screenshot = await browser.screenshot()
          expect(screenshot.subarray(0, PNG.length)).to.deep.equal(PNG)
          return browser.evaluate(colorsAt, screenshot.toString('base64'), points)
        }, answer => !Object.values(answer).some(isWhite))
        expect(colors).to.deep.equal({ h1: STYLED, img: DRAWN })
      })

      it(`has a link ${place} to a page in a folder, with the same stylesheet`, async () => {
        await browser.open(urlOf())
        await browser.follow('a')
        const { url, title, background } = await browser.evaluate(lookAtPage)
        expect([url, title, background]).to.deep.equal([`${urlOf()}guide/`, 'The guide', rgb(STYLED)])
      })

      it(`answers 404 ${place} for missing paths, and no path leads out of it`, async () => {
        await browser.open(urlOf())
        for (const path of [
          'none.html', 'guide/none', 'styles/', '../secret.txt', '..%2fsecret.txt', '%2e%2e%2fsecret.txt',
          '..%5csecret.txt', 'guide/../../secret.txt', 'guide/..%2f..%2fsecret.txt', 'secret.txt'
        ]) {
          const { status, text } = await browser.evaluate(fetched, path)
          expect([status, text.includes(FILES['secret.txt'])], path).to.deep.equal([404, false])
        }
        await browser.open(`${urlOf()}none.html`)
        const { title, background } = await browser.evaluate(lookAtPage)
        expect([title === 'A site – one CID', background]).to.deep.equal([false, null])
      })
    }
  })
}

// The functions below run in the page.

/** Describes the page. `points` are the middles of the parts with known colours. */
function lookAtPage () {
  const { document, getComputedStyle, location } = globalThis
  const [h1, img] = ['h1', 'img'].map(name => document.querySelector(name))
  const points = {}
  for (const part of [h1, img].filter(Boolean)) {
    const { x, y, width, height } = part.getBoundingClientRect()
    points[part.localName] = [x + width / 2, y + height / 2]
  }
  return {
    url: location.href,
    title: document.title,
    background: h1 && getComputedStyle(h1).backgroundColor,
    picture: img && { naturalWidth: img.naturalWidth, naturalHeight: img.naturalHeight },
    points
  }
}

/** The colours of some points of the page in a screenshot of it. */
async function colorsAt (base64, points) {
  const { Image, document, innerWidth } = globalThis
  const image = new Image()
  image.src = `data:image/png;base64,${base64}`
  await image.decode()
  const canvas = document.createElement('canvas')
  Object.assign(canvas, { width: image.width, height: image.height })
  const context = canvas.getContext('2d')
  context.drawImage(image, 0, 0)
  const scale = image.width / innerWidth
  return Object.fromEntries(Object.entries(points).map(([name, [x, y]]) =>
    [name, [...context.getImageData(x * scale, y * scale, 1, 1).data.subarray(0, 3)]]))
}

async function fetched (path) {
  const response = await fetch(path)
  return { status: response.status, text: await response.text() }
}
