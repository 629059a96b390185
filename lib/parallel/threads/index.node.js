// Threads of Node.js, Bun and Deno.

import { Worker } from 'node:worker_threads'
import { availableParallelism } from 'node:os'

/** @import { Thread, ThreadEvents } from '../../core/types.js' */

/** How many threads can run at the same time. */
export const parallelism = () => availableParallelism()

/**
 * @param {ThreadEvents} events
 * @returns {Thread}
 * @throws where threads are refused
 */
export function startThread (events) {
  // The thread does not get the flags of the program, because some of them (--input-type) would keep it from starting.
  return threadOf(new Worker(new URL('./worker.js', import.meta.url), { name: 'baobox', execArgv: [] }), events)
}

/** @param {Worker} worker @param {ThreadEvents} events @returns {Thread} */
export function threadOf (worker, events) {
  worker.on('message', events.message)
  worker.on('messageerror', events.end)
  worker.on('error', events.end)
  worker.on('exit', code => events.end(new Error(`it ended with code ${code}`)))
  return {
    post: message => worker.postMessage(message),
    ref: () => worker.ref(),
    unref: () => worker.unref(),
    end: () => worker.terminate()
  }
}
