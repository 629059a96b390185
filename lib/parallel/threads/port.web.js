// Receives and sends the messages of a worker, in browsers.

/** @type {any} */
const worker = globalThis

/** @param {(message: any) => void} onMessage */
export const listen = onMessage => { worker.onmessage = (/** @type {MessageEvent} */ { data }) => onMessage(data) }

/** @param {unknown} message @param {ArrayBuffer[]} [transfer] */
export const send = (message, transfer = []) => worker.postMessage(message, transfer)
