// The entry point `baobox/http/node`: a handler in a server of Node.js.

export { toNodeHandler } from './node-handler.js'
export { serve } from './serve.js'

// The types of public signatures.

/** @typedef {import('./node-handler.js').NodeHandler} NodeHandler */
/** @typedef {import('./serve.js').ServeOptions} ServeOptions */
/** @typedef {import('./serve.js').ServerPlace} ServerPlace */
/** @typedef {import('./serve.js').StoreServer} StoreServer */
/** @typedef {import('../authorize.js').Action} Action */
/** @typedef {import('../authorize.js').Authorize} Authorize */
/** @typedef {import('../handler.js').Handler} Handler */
/** @typedef {import('../options.js').HandlerOptions} HandlerOptions */
/** @typedef {import('../handler.js').HandlerStats} HandlerStats */
/** @typedef {import('../cors.js').CorsRules} CorsRules */
/** @typedef {import('../served-request.js').RequestEvent} RequestEvent */
/** @typedef {import('../../../store/interface.js').Store} Store */
