// The entry point `baobox/iroh`: a store among peers of iroh-blobs. The package @number0/iroh is loaded only when a
// mirror asks its peer, or when an endpoint is opened.

export { IROH_ALPN, openIrohEndpoint } from './endpoint.js'
export { irohMirror } from './mirror.js'
export { serveIroh } from './serve.js'
export { formatTicket, parseTicket } from './wire/ticket.js'

// The types of public signatures.

/** @typedef {import('./endpoint.js').EndpointOptions} EndpointOptions */
/** @typedef {ReturnType<typeof import('./mirror.js').irohMirror>} IrohMirror */
/** @typedef {import('./serve.js').IrohServeOptions} IrohServeOptions */
/** @typedef {import('./serve.js').IrohServer} IrohServer */
/** @typedef {import('./served-connection.js').PeerRequest} PeerRequest */
/** @typedef {import('./types.js').IrohAddress} IrohAddress */
/** @typedef {import('./types.js').IrohConnection} IrohConnection */
/** @typedef {import('./types.js').IrohEndpoint} IrohEndpoint */
/** @typedef {import('./types.js').IrohId} IrohId */
/** @typedef {import('./types.js').IrohIncoming} IrohIncoming */
/** @typedef {import('./types.js').IrohStream} IrohStream */
/** @typedef {import('./wire/ticket.js').PeerAddress} PeerAddress */
/** @typedef {import('./wire/ticket.js').Ticket} Ticket */
/** @typedef {import('../../lib/hash/cid.js').BlobName} BlobName */
/** @typedef {import('../../store/interface.js').Store} Store */
