// A service worker that serves one store to all tabs of a site: only one page at a time can have a store open. What a
// page fetches below /baobox/ comes from the store, verified, also without a network.
//
//   npx esbuild service-worker.js --bundle --format=esm --outfile=public/service-worker.js
//   await navigator.serviceWorker.register('/service-worker.js', { type: 'module' })      in the page, once
//   await fetch('/baobox/blobs/bafkr4i...', { headers: { range: 'bytes=0-99' } })         in the page

import { BlobStore } from 'baobox/store'
import { createHandler } from 'baobox/http'

const BASE = '/baobox'
const answering = BlobStore.open('blobs').then(store => createHandler(store, { basePath: BASE, list: true }))

globalThis.addEventListener('fetch', event => {
  const { origin, pathname } = new URL(event.request.url)
  if (origin !== globalThis.location.origin || !pathname.startsWith(`${BASE}/`)) return
  event.respondWith(answering.then(answer => answer(event.request)))
})
