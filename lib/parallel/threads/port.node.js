// Receives and sends the messages of a worker, in Node.js, Bun and Deno.

import { parentPort } from 'node:worker_threads'

/** @param {(message: any) => void} onMessage */
export const listen = onMessage => { parentPort?.on('message', onMessage) }

/** @param {unknown} message @param {ArrayBuffer[]} [transfer] */
export const send = (message, transfer = []) => { parentPort?.postMessage(message, transfer) }
