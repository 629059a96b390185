// A browser shows the demo page: a film from three hosts that misbehave, the tree of a file, and a store.
import { expect } from 'chai'
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { hash, subtreeCv, toCid } from '../../../lib/index.js'
import { serveDemo } from '../../../bin/web/serve.js'
import { makeSample } from '../../../bin/web/page/tree/sample.js'
import { hex } from '../../support/bytes.js'
import { noise } from '../../support/inputs.js'

const AXE = new URL('../engines/node_modules/axe-core/axe.min.js', import.meta.url)
/** Runs axe-core in the page. Its policy allows no script from elsewhere, so the driver brings all of it. */
const findFaults = Object.assign(() => {}, {
  toString: () => `async () => {
    ${readFileSync(AXE, 'utf8')}
    const { violations } = await globalThis.axe.run(document, { resultTypes: ['violations'] })
    return violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ target }) => target.join(' ')).join(', '))
  }`
})
/** A phone, and a window on a desk. */
const SIZES = { narrow: [360, 760], wide: [1200, 900] }
/** Fast, so that tests take no longer than they must; slow, so that a host can be switched before all has come. */
const [FAST, SLOW] = [1 << 24, 60_000]
const MOST_MS = 200_000
/** A folder for screenshots of every test, to be looked at. */
const { SCREENSHOTS } = process.env

/** @param {import('../engines/index.js').Browser} browser */
export function testDemo (browser) {
  describe('the demo page', () => {
    /** @type {Awaited<ReturnType<typeof serveDemo>>} */
    let demo
    before(async () => {
      await browser.resize(...SIZES.wide)
      demo = await serveDemo()
    })
    beforeEach(async () => {
      for (const host of demo.hosts) host.set({ mode: 'honest', speed: FAST })
      await browser.open(demo.url)
      await until(isReady)
    })
    after(() => demo?.close())

    /** Asks the page until it says yes. A function that does not becomes part of the error. */
    async function until (ask, ...args) {
      const end = Date.now() + MOST_MS
      while (true) {
        const answer = await browser.evaluate(ask, ...args)
        if (answer) return answer
        if (Date.now() > end) {
          const shown = await browser.evaluate(textOf, 'body')
          throw new Error(`the page never said yes to ${ask.name}(${args}), but shows: ${shown}`)
        }
        await pause(50)
      }
    }
    const press = (label, section = 'main') => until(pressed, label, section)
    const shows = (selector, words) => until(showsAll, selector, words)

    describe('has a film that', () => {
      beforeEach(async function () {
        if (!await browser.evaluate(canPlay)) this.skip()
        await press('Forget the film and fetch it again')
      })

      it('plays, and seeks into parts that have not come', async () => {
        await press('noon')
        await until(colorIs, 44, 'blue')
        await press('night')
        await until(colorIs, 88, 'dark')
        await shows('.hosts', ['Host A', 'Host B', 'Host C', 'KiB came from here'])
      })

      it('goes on while one host lies and one is dead, and the page says what was refused', async () => {
        for (const host of demo.hosts) host.set({ speed: SLOW })
        await until(chosen, 'B', 'lies')
        await until(chosen, 'C', 'dead')
        expect(demo.hosts.map(({ mode }) => mode)).to.deep.equal(['honest', 'lies', 'dead'])
        await press('Forget the film and fetch it again')
        await press('sunset')
        await until(colorIs, 72, 'red')
        await shows('.log', ['B lied.', 'BAO_LEAF_MISMATCH', 'C did not answer', 'A sent'])
        await shows('.screen .status', ['refused; none reached the player'])
        const strip = await browser.evaluate(labelOf, '.strip')
        expect(strip).to.match(/\b[1-9]\d* came from A/).and.to.match(/\b0 came from C/)
        await look('film')
      })

      it('waits while all hosts stall, and goes on when one is honest again', async () => {
        for (const host of demo.hosts) host.set({ mode: 'stalls' })
        await press('Forget the film and fetch it again')
        await press('noon')
        await shows('.log', ['A stalled', 'B stalled', 'C stalled'])
        await until(chosen, 'B', 'honest')
        await until(colorIs, 44, 'blue')
        expect(await browser.evaluate(labelOf, '.strip')).to.match(/ 0 came from A, \d+ came from B, 0 came from C/)
      })

      it('can be forgotten by two pages at the same time', async () => {
        expect(await browser.evaluate(forgetTwice)).to.deep.equal([200, 200, 200])
      })

      it('is kept by the service worker, and needs no host after a reload', async () => {
        await press('noon')
        await until(colorIs, 44, 'blue')
        await shows('.screen .status', ['All of the film is here'])
        for (const host of demo.hosts) host.set({ mode: 'dead' })
        await browser.open(demo.url)
        await until(isReady)
        await press('night')
        await until(colorIs, 88, 'dark')
        expect(await browser.evaluate(labelOf, '.strip')).to.match(/ 96 were kept from before; 0 are not here/)
      })
    })

    describe('has a tree that', () => {
      it('shows the name of a file, and the path of a byte', async () => {
        await press('take a made-up file', '#tree')
        const bytes = new Uint8Array(await makeSample().arrayBuffer())
        await shows('.facts', [`${toCid(hash(bytes))}`, '64 MiB', '256 KiB, 0.39 %'])
        await browser.evaluate(entered, '[name="offset"]', 20_000_001)
        await press('Show the path')
        const leaf = 20_000_001 - 20_000_001 % 16384
        const cv = hex(subtreeCv(bytes.subarray(leaf, leaf + 16384), leaf / 1024))
        await shows('details', [cv, hex(hash(bytes))])
        expect(await browser.evaluate(labelOf, '.node.path[aria-level="13"]')).to.include(cv.slice(0, 6))
      })

      it('says which piece is refused when a byte is changed, and why', async () => {
        const bytes = noise(1_000_000, 5)
        await browser.evaluate(gaveFile, '#tree input[type=file]', 'noise.bin', Buffer.from(bytes).toString('base64'))
        await shows('.facts', ['noise.bin', `${toCid(hash(bytes))}`])
        await browser.evaluate(entered, '[name="offset"]', 500_000)
        await press('Show the path')
        await press('Change byte 500')
        const leaf = 500_000 - 500_000 % 16384
        const piece = bytes.slice(leaf, leaf + 16384)
        const right = hex(subtreeCv(piece, leaf / 1024))
        piece[500_000 - leaf] ^= 1
        const wrong = hex(subtreeCv(piece, leaf / 1024))
        await shows('#tree', ['BAO_LEAF_MISMATCH', right, wrong, '3 pieces had been given'])
        expect(await browser.evaluate(labelOf, '.node.bad')).to.match(/ refused$/)
        await look('tree')
        await press('Change a hash above it')
        await shows('#tree', ['BAO_PARENT_MISMATCH', 'before any byte below it is looked at'])
      })

      it('works with a file of one piece, and refuses an empty one', async () => {
        const small = noise(100, 6)
        await browser.evaluate(gaveFile, '#tree input[type=file]', 'small', Buffer.from(small).toString('base64'))
        await shows('.facts', [`${toCid(hash(small))}`])
        await press('Change byte')
        await shows('#tree', ['BAO_LEAF_MISMATCH', 'Nothing had been given out'])
        await browser.evaluate(gaveFile, '#tree input[type=file]', 'empty', '')
        await shows('#tree [role=alert]', ['empty file'])
      })

      it('is walked with the arrow keys', async () => {
        const file = Buffer.from(noise(100_000, 7)).toString('base64')
        await browser.evaluate(gaveFile, '#tree input[type=file]', 'keys', file)
        await until(focused, '.node[tabindex="0"]')
        const names = []
        for (const key of ['ArrowDown', 'ArrowRight', 'ArrowUp']) {
          const before = await browser.evaluate(focusedNode)
          await browser.evaluate(typed, key)
          names.push(await until(focusedNode, before))
        }
        expect(names.map(name => name.replace(/^.*bytes/, 'bytes').replace(/, on the path/, ''))).to.deep.equal([
          'bytes 0 to 65535', 'bytes 65536 to 99999', 'bytes 0 to 99999'
        ])
      })
    })

    describe('has a store that', () => {
      beforeEach(async () => {
        await browser.evaluate(entered, '#store select', 8 << 20)
        await until(emptied)
      })

      it('keeps blobs whole and in part, also after a reload', async () => {
        await press('Keep 3 MiB')
        await shows('.blobs', ['all of 3 MiB'])
        await press('Fetch a third of the film')
        await shows('.blobs', ['the film', '512 KiB of 1.5 MiB'])
        await browser.open(demo.url)
        await shows('.blobs', ['all of 3 MiB', 'made-up bytes', 'the film', '512 KiB of 1.5 MiB'])
        await look('store')
      })

      it('evicts what was used least recently, except what is pinned', async () => {
        await press('Keep 3 MiB')
        await shows('.blobs', ['made-up bytes 1'])
        await until(pinned, 'made-up bytes 1')
        await press('Keep 3 MiB')
        await shows('.blobs', ['made-up bytes 2'])
        await press('Keep 3 MiB')
        await shows('#store .log', ['The quota evicted made-up bytes 2'])
        await shows('.blobs', ['made-up bytes 1', 'made-up bytes 3'])
      })

      it('exports an archive, and imports it', async () => {
        await press('Keep 3 MiB')
        await shows('.blobs', ['all of 3 MiB'])
        await browser.evaluate(keepsExports)
        await press('Export all')
        await shows('#store .log', ['Exported 3'])
        await until(emptied)
        await browser.evaluate(gaveExport, '#store input[type=file]')
        await shows('#store .log', ['Imported 1 file from baobox-demo.car'])
        await shows('.blobs', ['all of 3 MiB'])
      })
    })

    it('has no fault that axe-core finds, in light and dark, on narrow and wide screens', async () => {
      demo.hosts[1].set({ mode: 'lies' })
      await press('Forget the film and fetch it again')
      await press('noon')
      await shows('.log', ['B lied.'])
      const file = Buffer.from(noise(500_000, 8)).toString('base64')
      await browser.evaluate(gaveFile, '#tree input[type=file]', 'noise.bin', file)
      await press('Change byte')
      await press('Keep 3 MiB')
      await shows('.blobs', ['all of 3 MiB'])
      try {
        for (const scheme of ['light', 'dark']) {
          for (const size of Object.keys(SIZES)) {
            await browser.resize(...SIZES[size])
            await browser.evaluate(colored, scheme)
            expect(await browser.evaluate(findFaults), `${scheme}, ${size}`).to.deep.equal([])
            const { width, inner } = await browser.evaluate(widths)
            expect(width, `the page scrolls to the side on a ${size} screen`).to.be.at.most(inner)
            await look(`${scheme}-${size}`)
          }
        }
      } finally {
        await browser.resize(...SIZES.wide)
      }
    })

    /** Takes screenshots of the whole page, screen by screen, if somebody wants to look at them. */
    async function look (name) {
      if (!SCREENSHOTS) return
      for (let screen = 0; await browser.evaluate(scrolled, screen); screen++) {
        await pause(300)
        const path = `${SCREENSHOTS}/${browser.version}-${name}-${screen}.png`
        writeFileSync(path, await browser.screenshot())
      }
    }
  })
}

// The functions below run in the page.

async function forgetTwice () {
  const forget = () => fetch('/film/forget', { method: 'POST' })
  const answers = await Promise.all([forget(), forget()])
  return [...answers, await fetch('/film/present')].map(({ status }) => status)
}

/** True when every part of the page has started. */
function isReady () {
  const jump = document.querySelector('.screen button')
  const buttons = [...document.querySelectorAll('#store button')]
  const keep = buttons.find(button => button.textContent.includes('Keep 3 MiB'))
  return document.querySelector('.drop') !== null && jump?.disabled === false && keep?.disabled === false
}

function textOf (selector) {
  const texts = [...document.querySelectorAll(selector)].map(({ textContent }) => textContent)
  return texts.join(' ').replace(/\s+/g, ' ')
}

function labelOf (selector) {
  return document.querySelector(selector)?.getAttribute('aria-label')
}

function showsAll (selector, words) {
  const texts = [...document.querySelectorAll(selector)].map(({ textContent }) => textContent)
  const text = texts.join(' ').replace(/\s+/g, ' ')
  return words.every(word => text.includes(word))
}

/** Presses the button that has these words, if it can be pressed. */
function pressed (label, section) {
  const buttons = [...document.querySelector(section).querySelectorAll('button')]
  const button = buttons.find(({ textContent }) => textContent.replace(/\s+/g, ' ').trim().startsWith(label))
  if (button === undefined || button.disabled) return false
  button.click()
  return true
}

function canPlay () {
  return document.createElement('video').canPlayType('video/webm; codecs="vp9"') !== ''
}

/** Switches a host. True when the page shows that the host has changed. */
async function chosen (host, mode) {
  const input = document.querySelector(`[name="host-${host}"][value="${mode}"]`)
  if (!input.checked) input.click()
  const states = await (await fetch('/hosts')).json()
  return states.some(state => state.name === host && state.mode === mode)
}

/** True if the film shows a picture at this time or up to 5 seconds later, whose sky has this colour. */
function colorIs (seconds, color) {
  const video = document.querySelector('video')
  const { currentTime, readyState, seeking } = video
  if (seeking || readyState < 2 || currentTime < seconds || currentTime > seconds + 5) return false
  const canvas = document.createElement('canvas')
  Object.assign(canvas, { width: 48, height: 27 })
  const context = canvas.getContext('2d')
  context.drawImage(video, 0, 0, 48, 27)
  const [red, green, blue] = context.getImageData(24, color === 'red' ? 16 : 2, 1, 1).data
  if (color === 'dark') return red + green + blue < 150 && blue > red
  return color === 'blue' ? blue > 180 && blue > red + 60 : red > 150 && red > blue + 40
}

function entered (selector, value) {
  const input = document.querySelector(selector)
  input.value = value
  input.dispatchEvent(new Event('change', { bubbles: true }))
}

/** Chooses a file, as a user does. */
function gaveFile (selector, name, base64) {
  const bytes = Uint8Array.from(atob(base64), letter => letter.charCodeAt(0))
  const transfer = new globalThis.DataTransfer()
  transfer.items.add(new File([bytes], name))
  const input = document.querySelector(selector)
  input.files = transfer.files
  input.dispatchEvent(new Event('change', { bubbles: true }))
}

function focused (selector) {
  const element = document.querySelector(selector)
  element?.focus()
  return document.activeElement === element && element !== null
}

/** The name of the node that has the focus, unless it is this one. */
function focusedNode (other) {
  const { activeElement } = document
  const name = activeElement?.classList.contains('node') ? activeElement.getAttribute('aria-label') : undefined
  return name !== other && name
}

function typed (key) {
  const event = new globalThis.KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })
  document.activeElement.dispatchEvent(event)
}

/** Deletes one blob of the store. True when there is none. */
function emptied () {
  const buttons = [...document.querySelectorAll('.blobs button')]
  buttons.find(({ textContent, disabled }) => textContent.includes('Delete') && !disabled)?.click()
  return buttons.length === 0 && document.querySelector('#store .note')?.textContent === 'The store is empty.'
}

/** Pins a blob. */
function pinned (name) {
  const row = [...document.querySelectorAll('.blobs li')].find(({ textContent }) => textContent.includes(name))
  const box = row?.querySelector('[type=checkbox]')
  if (box && !box.checked && !box.disabled) box.click()
  return box?.checked
}

/** Keeps the files that the page gives to the user, instead of downloading them. */
function keepsExports () {
  const make = URL.createObjectURL
  URL.createObjectURL = blob => {
    globalThis.exported = blob
    return make.call(URL, blob)
  }
  globalThis.HTMLAnchorElement.prototype.click = () => {}
}

function gaveExport (selector) {
  const transfer = new globalThis.DataTransfer()
  transfer.items.add(new File([globalThis.exported], 'baobox-demo.car'))
  const input = document.querySelector(selector)
  input.files = transfer.files
  input.dispatchEvent(new Event('change', { bubbles: true }))
}

/** Shows the page as a user sees whose system has this colour scheme. */
function colored (scheme) {
  document.documentElement.style.colorScheme = scheme
}

function widths () {
  return { width: document.documentElement.scrollWidth, inner: globalThis.innerWidth }
}

/** Scrolls to a screen. False if the page ends before it. */
function scrolled (screen) {
  const { documentElement } = document
  documentElement.style.scrollBehavior = 'auto'
  const top = screen * (globalThis.innerHeight - 40)
  globalThis.scrollTo(0, top)
  return top < documentElement.scrollHeight - 100
}
