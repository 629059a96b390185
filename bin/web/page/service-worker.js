// The service worker of the page. It answers the player's requests for the film from a store that fetches what it lacks
// from the three hosts. The player seeks as in any file; every byte that it gets has been verified.

import { BlobStore } from '../../../store/index.js'
import { createHandler } from '../../../exchange/http/index.js'
import { FILM } from './film/facts.js'
import { statesOfHosts } from './film/hosts.js'
import { FILM_CHANNEL, FILM_FOLDER, FORGET, PRESENT } from './film/names.js'
import { FilmSource } from './film/source.js'

/** @type {any} */
const worker = globalThis
const channel = new BroadcastChannel(FILM_CHANNEL)
/** @type {ReturnType<typeof open> | undefined} */
let opened

async function open () {
  const source = new FilmSource(await statesOfHosts() ?? [], event => channel.postMessage(event))
  const store = await BlobStore.open('baobox-demo-film', { wait: 10_000, supply: source.slice })
  const handler = createHandler(store, { basePath: FILM_FOLDER, contentType: () => 'video/webm' })
  return { store, handler }
}

/** Deletes the film. Closing the store ends the answers and requests that are under way. @param {BlobStore} store */
async function reopenWithoutFilm (store) {
  await store.close()
  const next = await open()
  await next.store.delete(FILM)
  return next
}

/** Answers a request below `FILM_FOLDER`. @param {Request} request @returns {Promise<Response>} */
async function answer (request) {
  const current = (opened ??= open())
  const { pathname } = new URL(request.url)
  if (pathname === FORGET) {
    // Another page may ask for the same before this has ended.
    opened = current.then(({ store }) => reopenWithoutFilm(store))
    await opened
    return Response.json({})
  }
  const { store, handler } = await current
  if (pathname === PRESENT) {
    const stat = await store.stat(FILM).catch(() => undefined)
    return Response.json(stat?.present.toBytes(stat.size) ?? [])
  }
  return handler(request)
}

worker.addEventListener('install', () => worker.skipWaiting())
worker.addEventListener('activate', (/** @type {any} */ event) => event.waitUntil(worker.clients.claim()))
worker.addEventListener('fetch', (/** @type {any} */ event) => {
  const { origin, pathname } = new URL(event.request.url)
  if (origin !== worker.location.origin || !pathname.startsWith(`${FILM_FOLDER}/`)) return
  event.respondWith(answer(event.request).catch(error => {
    opened = undefined // the next request tries again
    return new Response(error.message, { status: 503 })
  }))
})
