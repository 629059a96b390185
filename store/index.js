// What `import 'baobox/store'` gives.

export { BlobStore } from './blobs.js'
export { asBlockstore } from './blockstore.js'
