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
    // In small steps: of a large one, the process might die before the worker can.
    let kept
    while (true) kept = { kept }
  }
}

parentPort.on('message', WAYS[workerData])
parentPort.postMessage({ isReady: true })
