// The entry point `baobox/service-worker`: a service worker that answers with the verified files of a site.

export { serveVerified } from './serve-verified.js'

// The types of public signatures.

/** @typedef {import('./serve-verified.js').ServeVerifiedOptions} ServeVerifiedOptions */
/** @typedef {import('./serve-verified.js').WorkerEvent} WorkerEvent */
/** @typedef {import('./serve-verified.js').Lie} Lie */
/** @typedef {import('../download/from-mirrors.js').MirrorRequestEvent} MirrorRequestEvent */
/** @typedef {import('../http/options.js').SiteOptions} SiteOptions */
/** @typedef {import('../http/served-request.js').RequestEvent} RequestEvent */
/** @typedef {import('../../verifier/mirrors/mirror.js').MirrorLike} MirrorLike */
/** @typedef {import('../../lib/hash/cid.js').BlobName} BlobName */
