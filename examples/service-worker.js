// A service worker that serves one store to all tabs of a site: only one page at a time can have a store open. Pages
// fetch blobs below /baobox/, verified and also without a network, and put blobs there.
//
//   npx esbuild service-worker.js --bundle --format=esm --conditions=worker --outfile=public/service-worker.js
//   await navigator.serviceWorker.register('/service-worker.js', { type: 'module' })      in the page, once
//   await fetch(`/baobox/blobs/${cid}`, { headers: { range: 'bytes=0-99' } })             in the page
//   await fetch(`/baobox/blobs/${cid}`, { method: 'PUT', body: file })

import { BlobStore } from 'baobox/store'
import { createHandler } from 'baobox/http'

const BASE = '/baobox'
let answering

/** Opens the store at the first request, not earlier: the worker of an older version may still have it open. */
async function open () {
  const store = await BlobStore.open('blobs', { wait: 10_000 })
  return createHandler(store, { basePath: BASE, list: true, authorize: () => true })
}

async function answer (request) {
  try {
    const handler = await (answering ??= open())
    return await handler(request)
  } catch (error) {
    answering = undefined // the next request tries again
    return new Response(error.message, { status: 503 })
  }
}

globalThis.addEventListener('fetch', event => {
  const { origin, pathname } = new URL(event.request.url)
  if (origin === globalThis.location.origin && pathname.startsWith(`${BASE}/`)) event.respondWith(answer(event.request))
})
