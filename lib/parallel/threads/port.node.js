// What a worker hears and says, in Node.js and what takes its place.

import { parentPort } from 'node:worker_threads'

/** @param {(message: any) => void} hear */
export const listen = hear => { parentPort?.on('message', hear) }

/** @param {unknown} message @param {ArrayBuffer[]} [transfer] */
export const send = (message, transfer = []) => { parentPort?.postMessage(message, transfer) }
