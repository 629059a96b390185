// A page beside the one with the tests (storage.test.js): it opens a store, is given bytes to put or a slice to receive, and then waits for more that does
// not come, until it is reloaded.
import { BlobStore } from '../../store/index.js'

const { parent } = globalThis
const say = word => parent.postMessage(word, '*')

const location = new URLSearchParams(globalThis.location.search).get('location')
const store = location === null ? undefined : await BlobStore.open(location)

/** All bytes, and no end. When the next piece is asked for, what came before has been taken. @param {() => Promise<void>} isTaken */
async function * endless (bytes, isTaken) {
  for (let at = 0; at < bytes.length; at += 1 << 20) yield bytes.subarray(at, at + (1 << 20))
  await isTaken()
  say('waiting')
  await new Promise(() => {})
}

/** Waits until so many bytes of a blob are here. */
async function isHere (root, len) {
  for await (const { present } of store.observe(root)) if (present.contains(0, Math.floor(len / 1024))) return
}

globalThis.addEventListener('message', ({ data: { task, root, bytes } }) => {
  const working = task === 'put'
    ? store.put(endless(bytes, async () => {}))
    : store.receive(root, endless(bytes, () => isHere(root, bytes.length - (6 << 20))))
  working.catch(error => say(error.message))
})
say('ready')
