// The entry point `baobox/http`: serves a store over HTTP, by one function from Request to Response.

export { createHandler } from './handler.js'

// The types of public signatures.

/** @typedef {import('./handler.js').Handler} Handler */
/** @typedef {import('./options.js').HandlerOptions} HandlerOptions */
/** @typedef {import('./handler.js').HandlerStats} HandlerStats */
/** @typedef {import('./options.js').PutRules} PutRules */
/** @typedef {import('./served-request.js').RequestEvent} RequestEvent */
/** @typedef {import('./options.js').SiteOptions} SiteOptions */
/** @typedef {import('./sites/site.js').MountRules} MountRules */
/** @typedef {import('./sites/site.js').SiteRules} SiteRules */
/** @typedef {import('../../store/interface.js').Store} Store */
