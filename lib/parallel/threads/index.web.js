// Threads of browsers. They do not need `ref`, because threads do not keep a page alive.

/* global Worker */

/** @import { Thread, ThreadEvents } from '../../core/types.js' */

/** How many threads can run at the same time. */
export const parallelism = () => globalThis.navigator?.hardwareConcurrency ?? 1

/**
 * @param {ThreadEvents} events
 * @returns {Thread}
 * @throws where threads are refused
 */
export function startThread (events) {
  // Bundlers recognise this form, and turn the worker into a script of its own.
  const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })
  worker.onmessage = ({ data }) => events.message(data)
  worker.onmessageerror = () => events.end(new Error('a message could not be read'))
  worker.onerror = event => {
    event.preventDefault()
    events.end(event.error ?? new Error(event.message))
  }
  return {
    post: message => worker.postMessage(message),
    ref () {},
    unref () {},
    end: () => worker.terminate()
  }
}
