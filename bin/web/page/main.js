// The script of the page: starts its three parts. Each part works if another one fails.

import { html, render } from 'lit-html'
import { startFilm } from './film/view.js'
import { startStore } from './store/view.js'
import { startTree } from './tree/view.js'

/** @type {Record<string, (place: HTMLElement) => Promise<void>>} */
const PARTS = { 'film-app': startFilm, 'tree-app': startTree, 'store-app': startStore }

for (const [id, start] of Object.entries(PARTS)) {
  const place = /** @type {HTMLElement} */ (document.getElementById(id))
  place.replaceChildren()
  start(place).catch(error => {
    console.error(error)
    render(html`<p class="note" role="alert">This part could not start: ${error.message}</p>`, place)
  })
}
