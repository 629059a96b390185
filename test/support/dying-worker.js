// A worker that dies of the first span it is given: its data says how.
import process from 'node:process'
import { parentPort, workerData } from 'node:worker_threads'

const WAYS = {
  exit: () => process.exit(1),
  'exit 0': () => process.exit(0),
  throw () { throw new Error('it threw') },
  reject () { Promise.reject(new Error('it rejected')) },
  silence () {},
  memory () {
    const kept = []
    while (true) kept.push(new Array(1000).fill(kept.length))
  }
}

parentPort.on('message', WAYS[workerData])
parentPort.postMessage({ isReady: true })
