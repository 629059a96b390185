// The script of the page that starts the service worker of a published site, with a browser of a few objects.
import { expect } from 'chai'
import { bootstrapPage } from '../../../bin/commands/publish/bootstrap-page.js'

const [, SCRIPT] = /<script type="module">\n(.*)<\/script>/s.exec(bootstrapPage({ title: 'A site', site: 'bafyr4i' }))

/**
 * Runs the script until the page says something or loads itself again.
 *
 * @param {{ url?: string, scripts?: string[], controller?: object, active?: object }} [browser]  `scripts`: the URLs
 *   at which there is a worker. `controller`: the worker that has shown the page. `active`: the one that would show it
 *   when it is loaded again
 */
const opened = ({ url = 'https://host.test/a/b/', scripts = [`${url}sw.js`], controller = null, active = {} } = {}) =>
  new Promise(resolve => {
    const tried = []
    const serviceWorker = {
      controller,
      ready: Promise.resolve({ active }),
      async register ({ href }) {
        tried.push(href)
        if (!scripts.includes(href)) throw new TypeError('the script is missing')
        return { installing: null }
      }
    }
    const location = { href: url, reload: () => resolve({ isLoadedAgain: true, tried }) }
    const say = (_, name, text) => {
      resolve({ text, tried })
      return true
    }
    const document = { querySelector: () => new Proxy({}, { set: say }) }
    const BroadcastChannel = class extends EventTarget {}
    // eslint-disable-next-line no-new-func
    new Function('globalThis', 'navigator', 'BroadcastChannel', SCRIPT)(
      { document, location }, { serviceWorker }, BroadcastChannel)
  })

describe('the page of a published site', () => {
  it('looks for the worker upwards, and loads itself again when the worker is active', async () => {
    const scripts = ['https://host.test/sw.js']
    expect(await opened({ scripts })).to.deep.equal({
      isLoadedAgain: true,
      tried: ['https://host.test/a/b/sw.js', 'https://host.test/a/sw.js', 'https://host.test/sw.js']
    })
    expect((await opened({ scripts: [] })).text).to.include('could not be started: the script is missing')
  })

  it('does not load itself for ever when another worker shows it', async () => {
    const other = {}
    expect((await opened({ controller: other, active: other })).text).to.include('Close all pages')
    expect((await opened({ controller: other })).isLoadedAgain).to.equal(true) // the new worker is in a folder below
  })
})
