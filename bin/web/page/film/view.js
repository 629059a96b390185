// The first part of the page: the player, the switches of the three hosts, and from where each piece of the film came.

import { html, nothing, render } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { formatCount, formatSize, formatTime, plural } from '../format.js'
import { FILM, FILM_SECONDS } from './facts.js'
import { FilmLog } from './log.js'
import { setHost, statesOfHosts } from './hosts.js'
import { placeOfFilm } from './player.js'

/** @import { HostState, Mode } from '../../hosts.js' */

/** @typedef {{ seconds: number, plays: boolean }} Place  in the film, and whether the film plays from there */

/** @type {[Mode, string][]} */
const MODES = [['honest', 'honest'], ['lies', 'lies'], ['stalls', 'stalls'], ['dead', 'is dead']]
/** Bytes per second. */
const SPEEDS = [[40_000, 'slow lines, so that you can watch'], [2_000_000, 'fast lines']]
/** Events of the player after which the status is another one. */
const EVENTS = ['timeupdate', 'seeking', 'seeked', 'playing', 'waiting', 'pause', 'ended', 'loadeddata']
const JUMPS = [[8, 'sunrise'], [44, 'noon'], [72, 'sunset'], [88, 'night']]

/** @param {HTMLElement} place */
export async function startFilm (place) {
  const hosts = await statesOfHosts()
  if (hosts !== undefined) return new FilmView(place, hosts).start()
  // Here the page is a site of files, which has no hosts with switches.
  const video = makeVideo()
  video.src = 'film.webm'
  render(html`<div class="screen">${video}</div>
    <p class="note">The three hosts and their switches run on your own machine: start them, and this page, with
    <code>npx baobox demo --web</code>.</p>`, place)
}

class FilmView {
  #place
  #log
  /** @type {HostState[]} */
  #hosts
  /** @type {import('./player.js').FilmPlace | undefined} */
  #film
  #video = makeVideo()
  #isDue = false
  /** Where the player should go. @type {Place | undefined} */
  #wanted
  /** True while the film cannot be used. */
  #isBusy = true
  #problem = ''

  /** @param {HTMLElement} place @param {HostState[]} hosts */
  constructor (place, hosts) {
    this.#place = place
    this.#hosts = hosts
    this.#log = new FilmLog(hosts.map(({ name }) => name))
  }

  async start () {
    this.#draw()
    this.#film = await placeOfFilm(this.#hosts, event => {
      this.#log.add(event)
      if (event.type !== 'arrived') this.#askHosts()
      this.#draw()
    })
    this.#log.keep(await this.#film.present())
    await this.#load()
  }

  async #load () {
    this.#problem = ''
    // WebKit seeks only in the first film of a player.
    const video = this.#video = makeVideo()
    for (const type of EVENTS) video.addEventListener(type, () => this.#draw())
    video.addEventListener('error', () => {
      this.#problem = video.error?.message || 'this browser cannot play the film'
      this.#draw()
    })
    video.src = await this.#film?.url() ?? ''
    this.#isBusy = false
    this.#draw()
    if (this.#wanted !== undefined) this.#goTo(this.#wanted)
  }

  async #askHosts () {
    this.#hosts = await statesOfHosts() ?? this.#hosts
    this.#draw()
  }

  /** @param {Partial<HostState> & { name: string }} change */
  async #set (change) {
    this.#hosts = await setHost(change) ?? this.#hosts
    this.#draw()
  }

  #forget = async () => {
    const { currentTime, paused } = this.#video
    this.#isBusy = true
    this.#wanted = { seconds: currentTime, plays: !paused }
    this.#draw()
    this.#video.removeAttribute('src')
    this.#video.load()
    await this.#film?.forget()
    this.#log.clear()
    await this.#load()
  }

  /** Seeks, at once or as soon as the player has a picture. @param {Place} place */
  #goTo (place) {
    this.#wanted = place
    if (this.#isBusy) return
    const video = this.#video
    const go = () => {
      const { seconds, plays } = this.#wanted ?? place
      this.#wanted = undefined
      video.currentTime = seconds
      if (plays) video.play().catch(() => {})
    }
    if (video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) go()
    else video.addEventListener('loadeddata', go, { once: true })
  }

  /** Draws before the next frame, once for many changes. */
  #draw () {
    if (this.#isDue) return
    this.#isDue = true
    requestAnimationFrame(() => {
      this.#isDue = false
      render(this.#template(), this.#place)
    })
  }

  #template () {
    return html`
      <div class="film">
        <div class="screen">
          ${this.#video}
          <p class="status" role="status">${this.#status()}</p>
          <div class="row" role="group" aria-label="Jump in the film">
            <span class="label">Jump to</span>
            ${JUMPS.map(([seconds, name]) => html`
              <button type="button" ?disabled=${this.#isBusy}
                @click=${() => this.#goTo({ seconds: Number(seconds), plays: true })}>${name}</button>`)}
          </div>
        </div>
        <div class="hosts">${this.#hosts.map(host => this.#host(host))}</div>
      </div>
      ${this.#strip()}
      <div class="row">
        <button type="button" class=${this.#log.isWhole ? 'main' : ''} ?disabled=${this.#isBusy}
          @click=${this.#forget}>
          Forget the film and fetch it again</button>
        <label>The hosts have
          <select @change=${(/** @type {any} */ event) => this.#setSpeed(Number(event.target.value))}>
            ${SPEEDS.map(([speed, name]) => html`
              <option value=${speed} ?selected=${this.#hosts[0].speed === speed}>${name}</option>`)}
          </select>
        </label>
      </div>
      <h3 id="log-title">What was refused, and why</h3>
      <div class="log" role="log" aria-labelledby="log-title" tabindex="0"><ol>
        ${this.#log.entries.length === 0
          ? html`<li class="quiet">Nothing yet. Let a host lie, then jump to a part of the film that is not here.</li>`
          : this.#log.entries.map(entry => html`<li class=${entry.type}>${this.#sentence(entry)}</li>`)}
      </ol></div>
      <p class="name">The name of the film: <code>${FILM}</code></p>`
  }

  /** @param {number} speed */
  async #setSpeed (speed) {
    for (const { name } of this.#hosts) await this.#set({ name, speed })
  }

  #status () {
    if (this.#problem !== '') return `The picture could not be shown: ${this.#problem}`
    if (this.#film === undefined) return 'The page is getting ready.'
    const { refused } = this.#log
    const { currentTime, paused, seeking, readyState } = this.#video
    const isWaiting = seeking || readyState < HTMLMediaElement.HAVE_CURRENT_DATA
    const picture = isWaiting
      ? `The picture waits for the pieces at ${formatTime(currentTime)}.`
      : `The picture ${paused ? 'stands' : 'runs'} at ${formatTime(currentTime)}.`
    const lies = refused === 0
      ? 'No host has lied so far.'
      : `${plural(refused, 'wrong piece was', 'wrong pieces were')} refused; none reached the player.`
    const all = this.#log.isWhole ? ' All of the film is here now, so no host is asked any more.' : ''
    const memory = this.#film.canSeek ? '' : ' This window has no service workers, so the whole film comes first.'
    return `${picture} ${lies}${all}${memory}`
  }

  /** @param {HostState} host */
  #host ({ name, mode }) {
    const { bytes, refused, failed } = this.#log.hosts[name]
    return html`
      <fieldset class="host">
        <legend><span class="swatch ${name}" aria-hidden="true"></span> Host ${name}</legend>
        <div class="modes">
          ${MODES.map(([value, label]) => html`
            <label class=${value}><input type="radio" name="host-${name}" value=${value}
              .checked=${live(mode === value)} @change=${() => this.#set({ name, mode: value })}>
              <span>${label}</span></label>`)}
        </div>
        <p>${bytes === 0 ? 'This host has sent nothing.' : `${formatSize(bytes)} came from here.`}
          ${refused > 0 ? html`<strong>${plural(refused, 'lie')} refused.</strong>` : nothing}
          ${failed > 0 ? `Did not answer ${failed === 1 ? 'once' : `${failed} times`}.` : nothing}</p>
      </fieldset>`
  }

  #strip () {
    const now = Math.floor(this.#video.currentTime / FILM_SECONDS * this.#log.pieces.length)
    const counts = this.#hosts.map(({ name }) => this.#log.pieces.filter(({ from }) => from === name).length)
    const [kept, missing] = ['kept', undefined].map(one => this.#log.pieces.filter(({ from }) => from === one).length)
    const text = `The film has ${this.#log.pieces.length} pieces. ` +
      this.#hosts.map(({ name }, i) => `${counts[i]} came from ${name}`).join(', ') +
      `${kept > 0 ? `, ${kept} were kept from before` : ''}; ${missing} are not here.`
    return html`
      <figure class="map">
        <div class="strip" role="img" aria-label=${text}>
          ${this.#log.pieces.map(({ from, refused }, i) => html`<i class="piece ${from ?? 'none'} ${
            refused ? 'refused' : ''} ${i === now ? 'now' : ''}"></i>`)}
        </div>
        <figcaption>
          The film from its first to its last byte, a box for each 16&nbsp;KiB:
          ${this.#hosts.map(({ name }) => html`<span class="key"><i class="piece ${name}"></i> from ${name}</span> `)}
          ${kept > 0 ? html`<span class="key"><i class="piece kept"></i> kept from before</span>` : nothing}
          <span class="key"><i class="piece none"></i> not here yet</span>
          <span class="key"><i class="piece none refused"></i> a lie was refused here</span>
          <span class="key"><i class="piece none now"></i> the picture is about here</span>
        </figcaption>
      </figure>`
  }

  /** @param {import('./log.js').Entry} entry */
  #sentence ({ type, host, start, end, code, message, helper }) {
    const range = `bytes ${formatCount(start)} to ${formatCount(end - 1)}`
    const then = helper === undefined ? '' : ` ${helper} sent ${type === 'refused' ? 'the right ones' : 'them'}.`
    if (type === 'refused') {
      const lie = this.#hosts.find(({ name }) => name === host)?.lastLie
      const confession = lie !== undefined && lie >= start && lie < end
        ? ` (The host had changed byte ${formatCount(lie)}.)`
        : ''
      return html`<b>${host} lied.</b> Its ${range} do not lead to the name of the film, so all of them were refused:
        <code>${code}</code>.${confession}${then}`
    }
    if (type === 'late') return html`<b>${host} stalled</b> at byte ${formatCount(start)}: ${message}.${then}`
    return html`<b>${host} did not answer</b> when it was asked for byte ${formatCount(start)}.${then}`
  }
}

function makeVideo () {
  const video = document.createElement('video')
  Object.assign(video, { controls: true, muted: true, playsInline: true, preload: 'auto', width: 480, height: 270 })
  video.setAttribute('aria-label', `A landscape during one day, without sound, ${FILM_SECONDS} seconds. A clock in the
    picture shows the time in the film.`)
  return video
}
