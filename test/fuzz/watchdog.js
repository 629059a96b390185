// A second thread that says when a case takes long: the first one may be in a loop that does not end,
// and then says nothing itself.
import { workerData } from 'node:worker_threads'

const { shared, names } = workerData
const [seed, target] = [new Uint32Array(shared, 0, 1), new Uint32Array(shared, 4, 1)]
const count = new Int32Array(shared, 8, 1)
const EVERY_MS = 10_000

let before = -1
let since = Date.now()
let told = 1
setInterval(() => {
  const now = Atomics.load(count, 0)
  if (now !== before) {
    before = now
    since = Date.now()
    told = 1
    return
  }
  const seconds = (Date.now() - since) / 1000
  if (now === 0 || seconds < 30 * told) return
  told *= 2
  console.log(`SLOW: case ${seed[0]} of ${names[target[0]]} has been running for ${seconds.toFixed(0)} s`)
}, EVERY_MS)
