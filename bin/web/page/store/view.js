// The third part of the page: what the store in this browser has, whole or in part, and what its quota evicts.

import { html, nothing, render, svg } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { formatSize, hex, plural, shortCid } from '../format.js'
import { statesOfHosts } from '../film/hosts.js'
import { CHOSEN } from '../tree/view.js'
import { KeptBlobs } from './kept.js'

/** @import { KeptBlob } from './kept.js' */

const MIB = 1 << 20
const QUOTAS = [8 * MIB, 16 * MIB, 96 * MIB]
const SAMPLE_LEN = 3 * MIB
const SAMPLE_NAME = 'made-up bytes'
const QUOTA_KEY = 'baobox-demo-quota'
const MOST_LINES = 20

/** @param {HTMLElement} place */
export async function startStore (place) {
  const view = new StoreView(place)
  addEventListener(CHOSEN, event => view.offer(/** @type {CustomEvent} */ (event).detail))
  await view.start()
}

class StoreView {
  #place
  #quota = Number(localStorage.getItem(QUOTA_KEY)) || QUOTAS[1]
  /** @type {KeptBlobs | undefined} */
  #kept
  #list = { blobs: /** @type {KeptBlob[]} */ ([]), bytes: 0, quota: this.#quota }
  /** What has happened, the latest first. @type {string[]} */
  #lines = []
  /** The file of the tree. @type {{ file: Blob, name: string } | undefined} */
  #offered
  #busy = ''

  /** @param {HTMLElement} place */
  constructor (place) {
    this.#place = place
  }

  async start () {
    await this.#do('Opening the store', () => this.#open())
  }

  /** @param {{ file: Blob, name: string }} chosen */
  offer (chosen) {
    this.#offered = chosen
    this.#draw()
  }

  async #open () {
    this.#kept = await KeptBlobs.open(this.#quota, {
      onChange: () => { this.#refresh().catch(() => {}) },
      onEvict: name => this.#say(`The quota evicted ${name}: of all that was not pinned, it was used least recently.`)
    })
    await this.#refresh()
  }

  async #refresh () {
    if (this.#kept === undefined) return
    this.#list = await this.#kept.list()
    this.#draw()
  }

  /** @param {string} line */
  #say (line) {
    this.#lines = [line, ...this.#lines].slice(0, MOST_LINES)
    this.#draw()
  }

  /** Does one thing at a time, and says what went wrong. @param {string} busy @param {() => Promise<unknown>} work */
  async #do (busy, work) {
    if (this.#busy !== '') return
    this.#busy = busy
    this.#draw()
    try {
      await work()
    } catch (error) {
      const { code, message } = /** @type {Error & { code?: string }} */ (error)
      this.#say(reasons[code ?? ''] ?? `${busy}: ${message}`)
    }
    this.#busy = ''
    await this.#refresh().catch(() => {})
    this.#draw()
  }

  /** @param {string} busy @param {(kept: KeptBlobs) => Promise<unknown>} work */
  #with (busy, work) {
    const kept = this.#kept
    return kept && this.#do(busy, () => work(kept))
  }

  #draw () { render(this.#template(), this.#place) }

  #template () {
    const isBusy = this.#busy !== '' || this.#kept === undefined
    const { blobs, bytes, quota } = this.#list
    return html`
      <div class="row">
        <button type="button" ?disabled=${isBusy || this.#offered === undefined} @click=${this.#keepOffered}>
          Keep the file of the tree</button>
        <button type="button" ?disabled=${isBusy} @click=${this.#keepSample}>Keep 3 MiB of made-up bytes</button>
        <button type="button" ?disabled=${isBusy} @click=${this.#fetchFilm}>Fetch a third of the film</button>
      </div>
      <div class="row">
        <label>It may keep
          <select ?disabled=${isBusy} @change=${this.#setQuota}>
            ${QUOTAS.map(one => html`
              <option value=${one} ?selected=${one === this.#quota}>${formatSize(one)}</option>`)}
          </select></label>
        <label>of which <meter min="0" max=${quota} .value=${Math.min(bytes, quota)}></meter> ${formatSize(bytes)}
          ${bytes === 1 ? 'is' : 'are'} used</label>
      </div>
      ${blobs.length === 0
        ? html`<p class="note">${this.#kept === undefined ? 'The store is not open.' : 'The store is empty.'}</p>`
        : html`<ul class="blobs">${blobs.map(blob => this.#blob(blob, isBusy))}</ul>`}
      <div class="row">
        <button type="button" ?disabled=${isBusy || !blobs.some(({ complete }) => complete)} @click=${this.#export}>
          Export all whole files as one archive</button>
        <label class="button">Import an archive <input class="visually-hidden" type="file" accept=".car"
          ?disabled=${isBusy} @change=${this.#import}></label>
        <span class="quiet">The archive is a CAR; each file in it is checked against its name.</span>
      </div>
      <p class="row" role="status">${this.#busy === '' ? nothing : `${this.#busy} …`}</p>
      ${this.#lines.length === 0
        ? nothing
        : html`<h3 id="store-log">What has happened</h3>
          <div class="log" role="log" aria-labelledby="store-log" tabindex="0">
            <ol>${this.#lines.map(line => html`<li>${line}</li>`)}</ol></div>`}`
  }

  /** @param {KeptBlob} blob @param {boolean} isBusy */
  #blob (blob, isBusy) {
    const { cid, name, size, complete, isPinned, present } = blob
    const len = present.reduce((sum, { start, end }) => sum + end - start, 0)
    const what = name || shortCid(cid)
    const text = complete ? `all of ${formatSize(size)}` : `${formatSize(len)} of ${formatSize(size)}`
    return html`
      <li>
        <div><b>${what}</b> <code class="quiet">${shortCid(cid)}</code></div>
        <div class="kept-part">
          <svg class="bar" role="img" aria-label="kept: ${text}" viewBox="0 0 100 1" preserveAspectRatio="none">
            ${present.map(({ start, end }) => bar(start / size * 100, (end - start) / size * 100))}</svg>
          <span>${text}</span>
        </div>
        <div class="row actions">
          <label><input type="checkbox" .checked=${live(isPinned)} ?disabled=${isBusy} @change=${
            (/** @type {any} */ { target: { checked } }) => this.#with('Pinning', kept => kept.pin(cid, checked))}>
            pinned<span class="visually-hidden">: ${what}</span></label>
          <button type="button" ?disabled=${isBusy} @click=${() => this.#read(blob, what)}>
            Read<span class="visually-hidden"> ${what}</span></button>
          <button type="button" ?disabled=${isBusy} @click=${
            () => this.#with('Deleting', kept => kept.delete(cid))}>
            Delete<span class="visually-hidden"> ${what}</span></button>
        </div>
      </li>`
  }

  #read = (/** @type {KeptBlob} */ blob, /** @type {string} */ what) => this.#with('Reading', async kept => {
    const bytes = await kept.read(blob)
    this.#say(`Read the first bytes of ${what}, verified: ${hex(bytes)}. Now it is the one that was used last.`)
  })

  #keepOffered = () => this.#with('Keeping the file', async kept => {
    const { file, name } = /** @type {{ file: Blob, name: string }} */ (this.#offered)
    await kept.put(file, name)
  })

  #keepSample = () => this.#with('Keeping made-up bytes', async kept => {
    const bytes = new Uint8Array(SAMPLE_LEN)
    for (let at = 0; at < bytes.length; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536))
    await kept.put(new Blob([bytes]), `${SAMPLE_NAME} ${this.#nextNumber()}`)
  })

  /** One more than the highest number that a made-up file has. */
  #nextNumber () {
    const names = this.#list.blobs.map(({ name }) => name).filter(name => name.startsWith(SAMPLE_NAME))
    return 1 + Math.max(0, ...names.map(name => Number(name.slice(SAMPLE_NAME.length)) || 0))
  }

  #fetchFilm = () => this.#with('Fetching from the hosts', async kept => {
    const urls = (await statesOfHosts())?.map(({ url }) => url) ?? [new URL('film.webm', document.baseURI).href]
    await kept.fetchFilm(urls, done => {
      this.#busy = `Fetching from the hosts: ${formatSize(done)}`
      this.#draw()
    })
  })

  #setQuota = (/** @type {any} */ { target }) => this.#with('Opening the store with the new quota', async kept => {
    this.#quota = Number(target.value)
    localStorage.setItem(QUOTA_KEY, target.value)
    this.#kept = undefined
    await kept.close()
    await this.#open()
  })

  #export = () => this.#with('Exporting', async kept => {
    const link = document.createElement('a')
    const archive = await kept.export()
    link.href = URL.createObjectURL(archive)
    link.download = 'baobox-demo.car'
    link.click()
    this.#say(`Exported ${formatSize(archive.size)} as baobox-demo.car.`)
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
  })

  #import = (/** @type {any} */ { target }) => {
    const [file] = target.files
    target.value = ''
    return file && this.#with('Importing', async kept => {
      this.#say(`Imported ${plural(await kept.import(file), 'file')} from ${file.name}.`)
    })
  }
}

/** @param {number} x @param {number} width  in percent */
const bar = (x, width) => svg`<rect x=${x} width=${width} height="1" />`

/** Sentences for what visitors can meet, by the codes of the errors. @type {Record<string, string>} */
const reasons = {
  STORE_LOCKED: 'Another tab has the store open. Close that tab, then reload this page.',
  STORE_FULL: 'It does not fit: the rest is pinned. Unpin or delete something, or let the store keep more.',
  FETCH_EXHAUSTED: 'No host has given right bytes: make one honest again.'
}
