// What a service worker keeps to be installed, in a Cache Storage in memory.
import { expect } from 'chai'
import { hash, toCid } from '../../../lib/index.js'
import { NameBlobs } from '../../../exchange/service-worker/name-blobs.js'
import { putCollection } from '../../../exchange/collections/index.js'
import { noise } from '../../support/inputs.js'
import { newStores } from '../../support/store/stores.js'

const BASE = 'https://host.test/'

/** A Cache Storage in memory. */
class MemoryCaches {
  #caches = new Map()

  async open (name) {
    if (!this.#caches.has(name)) this.#caches.set(name, new MemoryCache())
    return this.#caches.get(name)
  }

  keys = async () => [...this.#caches.keys()]
  delete = async name => this.#caches.delete(name)
}

class MemoryCache {
  #bodies = new Map()

  keys = async () => [...this.#bodies.keys()].map(url => ({ url }))
  match = async url => this.#bodies.has(url) ? new Response(this.#bodies.get(url)) : undefined
  put = async (url, response) => { this.#bodies.set(url, await response.arrayBuffer()) }
  delete = async url => this.#bodies.delete(url)
}

describe('the name blobs of a service worker', () => {
  const newStore = newStores()

  /** The name blobs of a new site, fetched, and the cache that has them. */
  async function fetched () {
    const { store: origin } = await newStore()
    const { cid: film } = await origin.put(noise(50_000, 70))
    const { cid } = await putCollection(origin, [['film.mp4', film]])
    const site = `${toCid(cid.multihash.digest)}`
    const caches = new MemoryCaches()
    const blobs = new NameBlobs(caches, { base: BASE, site })
    const supply = async (cid, ranges) => origin.slice(cid, ranges)
    await blobs.fetch(supply)
    const [name] = await caches.keys()
    return { blobs, site, film, caches, cache: await caches.open(name), supply }
  }
  const cidsIn = async cache => (await cache.keys()).map(({ url }) => url.split('/').at(-1))
  const tagsOf = async store => (await collectAll(store.tags.list())).map(({ name }) => name).sort()

  it('are put into a store with a tag each, and the files are not', async () => {
    const { blobs, site, film, cache } = await fetched()
    const cids = await cidsIn(cache)
    expect(cids).to.have.length(2).and.include(site)
    const { store } = await newStore()
    await store.tags.set('site of an old version', film)
    await blobs.putInto(store)
    for (const cid of cids) expect(await store.has(cid)).to.equal(true)
    expect(await tagsOf(store)).to.deep.equal(cids.map(cid => `site ${cid}`).sort())
  })

  it('are deleted from the cache when they are damaged, and fetched again', async () => {
    const { blobs, site, cache, supply } = await fetched()
    const cids = await cidsIn(cache)
    for (const spoiled of cids) {
      const url = `https://blobs.invalid/${spoiled}`
      for (const other of [url, 'https://blobs.invalid/none', `https://blobs.invalid/${'x'.repeat(5000)}`]) {
        await cache.put(other, new Response('what another page has written'))
      }
      const { store } = await newStore({ supply })
      await blobs.putInto(store)
      expect((await cidsIn(cache)).sort()).to.deep.equal(cids.filter(cid => cid !== spoiled).sort())
      const bytes = await store.bytes(spoiled)
      expect(`${toCid(hash(bytes))}`).to.equal(spoiled)
      await cache.put(url, new Response(bytes))
    }
    await cache.delete(`https://blobs.invalid/${site}`)
    await blobs.fetch(supply)
    expect((await cidsIn(cache)).sort()).to.deep.equal(cids.sort())
  })

  it('are fetched again when the browser has lost them', async () => {
    const { blobs, site, cache, supply } = await fetched()
    const lost = new ReadableStream({ start: controller => controller.error(new TypeError('Failed to fetch')) })
    for (const match of [async () => new Response(lost), async () => { throw new DOMException('', 'UnknownError') }]) {
      cache.match = match
      const { store } = await newStore({ supply })
      await blobs.putInto(store)
      expect((await store.bytes(site)).length).to.equal(64)
      expect(await tagsOf(store)).to.have.length(2)
    }
  })

  it('of other versions are dropped', async () => {
    const { blobs, caches } = await fetched()
    await new NameBlobs(caches, { base: BASE, site: 'other' }).fetch(async () => undefined).catch(() => {})
    await caches.open('another program')
    await blobs.dropOthers()
    expect(await caches.keys()).to.have.length(2).and.include('another program')
  })
})

/** @param {AsyncIterable} items */
async function collectAll (items) {
  const all = []
  for await (const item of items) all.push(item)
  return all
}
