// A worker that dies when it gets its first span, in the way that its data names.
import process from 'node:process'
import { parentPort, workerData } from 'node:worker_threads'

const WAYS = {
  exit: () => process.exit(1),
  'exit 0': () => process.exit(0),
  throw () { throw new Error('it threw') },
  reject () { Promise.reject(new Error('it rejected')) },
  silence () {},
  memory () {
    // It takes memory little by little: if a worker takes all in one step, the whole process of Node.js 24 may die.
    const kept = []
    setInterval(() => { for (let i = 0; i < 1000; i++) kept.push(new Array(100).fill(i)) })
  }
}

parentPort.on('message', WAYS[workerData])
parentPort.postMessage({ isReady: true })
