// A page beside the one with the tests (storage.test.js): it opens a store, is given bytes to put or a slice to receive, and then waits for more that does
// not come, until it is reloaded.
import { BlobStore } from '../../store/index.js'

const { parent } = globalThis
const say = word => parent.postMessage(word, '*')

const location = new URLSearchParams(globalThis.location.search).get('location')
const store = location === null ? undefined : await BlobStore.open(location)

/** All bytes, and no end. When the next piece is asked for, what came before has been taken. */
async function * endless (bytes) {
  for (let at = 0; at < bytes.length; at += 1 << 20) yield bytes.subarray(at, at + (1 << 20))
  say('waiting')
  await new Promise(() => {})
}

globalThis.addEventListener('message', ({ data: { task, root, bytes } }) => {
  const working = task === 'put' ? store.put(endless(bytes)) : store.receive(root, endless(bytes))
  working.catch(error => say(error.message))
})
say('ready')
