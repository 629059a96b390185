// What `import 'baobox/store'` gives.

export { BlobStore } from './blobs.js'
