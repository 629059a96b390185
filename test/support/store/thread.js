// A thread that opens stores for its parent, which starts it with `threadAt`.
import { once } from 'node:events'
import { Worker, isMainThread, parentPort } from 'node:worker_threads'

/** Opens, uses and closes stores in a thread of its own. */
export class StoreThread {
  #worker = new Worker(new URL(import.meta.url))

  /**
   * @param {{ open: string, from?: string } | { rescue: string, gate?: Int32Array } | { put: Uint8Array } | 'close'}
   *   task  `from`: URL of the store's entry point. Default: this checkout's. `gate`: shared memory; the rescue sends
   *   'checking', and then waits while its value is zero
   * @returns {Promise<any>} 'done', or `{ code, pid }` of the error
   */
  async ask (task) {
    const answer = this.nextAnswer()
    this.#worker.postMessage(task)
    return answer
  }

  async nextAnswer () { return (await once(this.#worker, 'message'))[0] }

  end () { return this.#worker.terminate() }
}

if (!isMainThread && parentPort !== null) {
  let store
  const run = async ({ open, rescue, put, gate, from = new URL('../../../store/index.js', import.meta.url).href }) => {
    const { BlobStore } = await import(from)
    const onProgress = gate && (() => {
      if (Atomics.load(gate, 0) === 0) parentPort.postMessage('checking')
      Atomics.wait(gate, 0, 0)
    })
    if (open !== undefined) store = await BlobStore.open(open)
    else if (rescue !== undefined) await BlobStore.rescue(rescue, { onProgress })
    else if (put !== undefined) await store.put(put)
    else await store.close()
    return 'done'
  }
  parentPort.on('message', task =>
    run(task).catch(({ code, pid }) => ({ code, pid })).then(answer => parentPort.postMessage(answer)))
}
