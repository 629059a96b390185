// Tests that examples/service-worker.js serves one store to several tabs. A frame replaces a tab.
import { expect } from 'chai'
import { hash, toCid } from '../../lib/index.js'
import { BlobStore } from '../../store/index.js'
import { hex, same } from '../support/bytes.js'
import { errorOf } from '../support/feeding.js'
import { noise } from '../support/inputs.js'

const { document, navigator } = globalThis
const SCOPE = '/tab'

describe('store: in a service worker', () => {
  const bytes = noise(3_000_001, 60)
  const url = `/baobox/blobs/${toCid(hash(bytes))}`
  const tabs = []
  let registration

  before(() => register('/service-worker.js'))
  after(async () => {
    tabs.forEach(tab => tab.frameElement.remove())
    await registration?.unregister()
  })

  async function register (script) {
    registration = await navigator.serviceWorker.register(script, { type: 'module', scope: SCOPE })
    await reaches(registration.installing, 'installed')
  }

  /** @returns {Promise<Window>} a page whose requests go through the service worker */
  async function openTab () {
    await reaches(registration.waiting ?? registration.active, 'activated')
    const frame = document.createElement('iframe')
    frame.src = SCOPE
    const isLoaded = new Promise(resolve => frame.addEventListener('load', resolve))
    document.body.append(frame)
    await isLoaded
    tabs.push(frame.contentWindow)
    return frame.contentWindow
  }

  it('is shared by all tabs, which read and write', async () => {
    const [first, second] = [await openTab(), await openTab()]
    const put = await first.fetch(url, { method: 'PUT', body: new Blob([bytes]) })
    expect(put.status, await put.text()).to.equal(201)

    for (const tab of [first, second]) {
      const whole = await tab.fetch(url)
      expect(whole.status).to.equal(200)
      expect(same(new Uint8Array(await whole.arrayBuffer()), bytes)).to.equal(true)
      const part = await tab.fetch(url, { headers: { range: 'bytes=1000000-1999999' } })
      expect(part.status).to.equal(206)
      expect(same(new Uint8Array(await part.arrayBuffer()), bytes.subarray(1_000_000, 2_000_000))).to.equal(true)
    }
    const { blobs } = await (await second.fetch('/baobox/blobs')).json()
    expect(blobs).to.have.length(1)
    expect(blobs[0]).to.include({ hash: hex(hash(bytes)), size: bytes.length, complete: true })
    expect(await errorOf(BlobStore.open('blobs'))).to.include({ code: 'STORE_LOCKED' })
  })

  it('is taken over by a new version of the worker', async () => {
    await register('/service-worker.js?version=2')
    expect((await tabs[0].fetch(url)).status, 'the old version still answers').to.equal(200)
    tabs.splice(0).forEach(tab => tab.frameElement.remove())
    const tab = await openTab()
    expect(tab.navigator.serviceWorker.controller.scriptURL).to.match(/version=2$/)
    const response = await tab.fetch(url)
    expect(response.status).to.equal(200)
    expect(same(new Uint8Array(await response.arrayBuffer()), bytes)).to.equal(true)
  })

  it('answers 404 for a blob that it does not have, and refuses a blob with another CID than in the path', async () => {
    const tab = await openTab()
    const other = `/baobox/blobs/${toCid(hash(Uint8Array.of(1)))}`
    expect((await tab.fetch(other)).status).to.equal(404)
    const put = await tab.fetch(other, { method: 'PUT', body: Uint8Array.of(2) })
    expect(put.ok).to.equal(false)
    expect((await tab.fetch(other)).status).to.equal(404)
  })
})

/** Waits until a worker is in a state, or in a later one. @param {ServiceWorker} worker @param {string} state */
function reaches (worker, state) {
  const STATES = ['installing', 'installed', 'activating', 'activated']
  return new Promise((resolve, reject) => {
    const look = () => {
      if (worker.state === 'redundant') reject(new Error('the service worker could not be installed'))
      if (STATES.indexOf(worker.state) >= STATES.indexOf(state)) resolve(undefined)
    }
    worker.addEventListener('statechange', look)
    look()
  })
}
