// The parts of a service worker's global scope that are used here. The types of workers and those of pages exclude each
// other. Source: Service Workers specification, "ServiceWorkerGlobalScope".

/** @typedef {Event & { waitUntil: (work: Promise<unknown>) => void }} ExtendableEvent */
/**
 * @typedef {ExtendableEvent & { request: Request, respondWith: (answer: Promise<Response>) => void }} FetchEvent
 */
/**
 * @typedef {object} WorkerScope
 * @property {{ scope: string }} registration
 * @property {CacheStorage} caches
 * @property {{ claim: () => Promise<void> }} clients
 * @property {((type: 'install' | 'activate', listener: (event: ExtendableEvent) => void) => void)
 *   & ((type: 'fetch', listener: (event: FetchEvent) => void) => void)} addEventListener
 */

export {}
