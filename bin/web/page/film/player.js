// Gives the film to the player. Usually the service worker answers the player's requests for ranges. Private windows
// have no service workers: there, the page loads the whole film into memory first.

import { MemoryLevel } from 'memory-level'
import { BlobStore } from '../../../../store/index.js'
import { FILM } from './facts.js'
import { FILM_CHANNEL, FILM_FOLDER, FORGET, PRESENT } from './names.js'
import { FilmSource } from './source.js'

/** @import { ByteRange } from '../../../../lib/index.js' */
/** @import { FilmEvent } from './source.js' */

/**
 * @typedef {object} FilmPlace
 * @property {boolean} canSeek  true if a seek fetches only what it needs
 * @property {() => Promise<string>} url  for the player; each call gives a new one
 * @property {() => Promise<ByteRange[]>} present  the bytes of the film that are here already
 * @property {() => Promise<unknown>} forget  deletes them
 */

/**
 * @param {{ name: string, url: string }[]} hosts @param {(event: FilmEvent) => void} onEvent
 * @returns {Promise<FilmPlace>}
 */
export async function placeOfFilm (hosts, onEvent) {
  try {
    await startWorker()
  } catch {
    return inMemory(hosts, onEvent)
  }
  new BroadcastChannel(FILM_CHANNEL).onmessage = ({ data }) => onEvent(data)
  let count = 0
  return {
    canSeek: true,
    url: async () => `${FILM_FOLDER}/blobs/${FILM}?view=${Date.now()}.${count++}`,
    present: async () => (await fetch(PRESENT)).json(),
    forget: () => fetch(FORGET, { method: 'POST' })
  }
}

/** Resolves when the service worker answers the requests of this page. */
async function startWorker () {
  const { serviceWorker } = navigator
  if (serviceWorker === undefined) throw new Error('no service workers')
  await serviceWorker.register('service-worker.js')
  if (serviceWorker.controller !== null) return
  await new Promise(resolve => serviceWorker.addEventListener('controllerchange', resolve, { once: true }))
}

/** @param {{ name: string, url: string }[]} hosts @param {(event: FilmEvent) => void} onEvent @returns {FilmPlace} */
function inMemory (hosts, onEvent) {
  const source = new FilmSource(hosts, onEvent)
  /** @type {string | undefined} */
  let made
  return {
    canSeek: false,
    async url () {
      if (made !== undefined) URL.revokeObjectURL(made)
      const level = () => new MemoryLevel({ keyEncoding: 'view', valueEncoding: 'view', storeEncoding: 'view' })
      const store = await BlobStore.open({ index: level(), data: level() }, { supply: source.slice })
      try {
        const bytes = /** @type {BlobPart} */ (await store.bytes(FILM))
        return (made = URL.createObjectURL(new Blob([bytes], { type: 'video/webm' })))
      } finally {
        await store.close()
      }
    },
    present: async () => [],
    forget: async () => {}
  }
}
