// The entry point `baobox/http`: serves a store over HTTP, by one function from Request to Response.

export { bearer } from './authorize.js'
export { createHandler } from './handler.js'
export { createVerifiedFetch } from './verified-fetch.js'

// The types of public signatures.

/** @typedef {import('./authorize.js').Action} Action */
/** @typedef {import('./authorize.js').Authorize} Authorize */
/** @typedef {import('./handler.js').Handler} Handler */
/** @typedef {import('./options.js').HandlerOptions} HandlerOptions */
/** @typedef {import('./handler.js').HandlerControls} HandlerControls */
/** @typedef {import('./handler.js').HandlerStats} HandlerStats */
/** @typedef {import('./cors.js').CorsRules} CorsRules */
/** @typedef {import('./served-request.js').Outcome} Outcome */
/** @typedef {import('./served-request.js').RequestEvent} RequestEvent */
/** @typedef {import('./options.js').SiteOptions} SiteOptions */
/** @typedef {import('./sites/answer-site.js').MountRules} MountRules */
/** @typedef {import('./sites/answer-site.js').SiteRules} SiteRules */
/** @typedef {import('./verified-fetch.js').VerifiedFetchOptions} VerifiedFetchOptions */
/** @typedef {import('../../store/interface.js').Store} Store */
