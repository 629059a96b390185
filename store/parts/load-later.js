// Loads the rare parts of a store when they are first needed. Bundlers put them in a file of their own, so that a page
// that does not use them does not load them.

/** @type {typeof import('./load-together.js').loadRareParts} */
export const loadRareParts = () => import('./rare.js')
