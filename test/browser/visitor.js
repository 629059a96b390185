// The second page, which storage.test.js opens in a frame. It opens a store, puts bytes or receives a slice, and then
// waits for more bytes, which never come, until it is reloaded.
import { BlobStore } from '../../store/index.js'

const { parent } = globalThis
const say = word => parent.postMessage(word, '*')

const location = new URLSearchParams(globalThis.location.search).get('location')
const store = location === null ? undefined : await BlobStore.open(location)

/**
 * Yields all bytes, reports `waiting` when they are taken, and never ends.
 *
 * @param {Uint8Array} bytes
 * @param {() => Promise<void>} isTaken  called when the next piece is asked for
 */
async function * endless (bytes, isTaken) {
  for (let at = 0; at < bytes.length; at += 1 << 20) yield bytes.subarray(at, at + (1 << 20))
  await isTaken()
  say('waiting')
  await new Promise(() => {})
}

/** Waits until the first `len` bytes of a blob are present. */
async function arePresent (root, len) {
  for await (const { present } of store.observe(root)) if (present.contains(0, Math.floor(len / 1024))) return
}

globalThis.addEventListener('message', ({ data: { task, root, bytes } }) => {
  const working = task === 'put'
    ? store.put(endless(bytes, async () => {}))
    : store.receive(root, endless(bytes, () => arePresent(root, bytes.length - (6 << 20))))
  working.catch(error => say(error.message))
})
say('ready')
