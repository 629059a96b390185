// The page that a first visitor of a published site gets. It starts the service worker, and loads itself again.

/** @param {string} text */
const escaped = text => text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)

/**
 * @param {{ title: string, site: string }} options  `site`: the CID of the manifest
 * @returns {string} HTML
 */
export const bootstrapPage = ({ title, site }) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="baobox-site" content="${escaped(site)}">
<link rel="icon" href="data:,">
<title>${escaped(title)}</title>
<style>body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 20vh auto; padding: 0 1rem }</style>
<p role="status">Loading&#8230;
<ul></ul>
<noscript><p>This site needs JavaScript: a service worker verifies its files.</noscript>
<script type="module">
${script}</script>
`

/** Runs in the page. */
const script = `const { document, location } = globalThis
const { serviceWorker } = navigator
const say = text => { document.querySelector('p').textContent = text }

// The host may show this page for any path, so the worker is in this folder or in one above it.
async function register () {
  let folder = new URL('./', location.href)
  while (true) {
    try {
      return await serviceWorker.register(new URL('sw.js', folder))
    } catch (error) {
      if (folder.pathname === '/') throw error
      folder = new URL('../', folder)
    }
  }
}

async function start () {
  if (serviceWorker === undefined) {
    return say('This browser has no service worker here, and the site needs one to verify its files. ' +
      'Some private windows have none, and pages that were loaded without https: do not.')
  }
  new BroadcastChannel('baobox').addEventListener('message', ({ data: { mirror, code } }) => {
    const text = mirror + ' has sent files that could not be verified (' + code + ')'
    const list = document.querySelector('ul')
    if ([...list.children].some(({ textContent }) => textContent === text)) return
    list.append(Object.assign(document.createElement('li'), { textContent: text }))
  })
  const { controller } = serviceWorker
  const { installing } = await register()
  installing?.addEventListener('statechange', () => {
    if (installing.state !== 'redundant') return
    say('The service worker could not be installed. The names of the files may be missing on all hosts.')
  })
  const { active } = await serviceWorker.ready
  // The worker that has shown this page would show it again. A new one waits until the pages of the old one are closed.
  if (active === controller) return say('Close all pages of this site, and open it again: it has a new service worker.')
  location.reload()
}

start().catch(error => say('The site could not be started: ' + error.message))
`
