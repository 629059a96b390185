// Runs the cases in a dedicated worker, in the order that the address of the page says, and reports each to the bench.

const { Worker, location } = globalThis
const { jobs } = Object.fromEntries(new URLSearchParams(location.search))
const worker = new Worker('/cases.js', { type: 'module' })
const report = (/** @type {object} */ body) => fetch('/report', { method: 'POST', body: JSON.stringify(body) })

for (const job of JSON.parse(jobs)) {
  const result = await new Promise(resolve => {
    worker.onmessage = ({ data }) => resolve(data)
    worker.onerror = ({ message }) => resolve({ error: message })
    worker.postMessage(job)
  })
  await report({ ...job, ...result })
}
await report({ isEnd: true })
