// What a worker hears and says, in browsers.

/** @type {any} */
const worker = globalThis

/** @param {(message: any) => void} hear */
export const listen = hear => { worker.onmessage = (/** @type {MessageEvent} */ { data }) => hear(data) }

/** @param {unknown} message @param {ArrayBuffer[]} [transfer] */
export const send = (message, transfer = []) => worker.postMessage(message, transfer)
