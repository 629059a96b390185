// Measures how many parts of a blob a server sends per second, and how long a client waits for one.
//
// Parts are 16 KiB at random places of one blob, over loopback, from a server in a process of its own. Ours are
// verified before they are sent; a slice also has the pairs that prove it. sirv sends ranges of the same file and
// verifies nothing. Clients keep their connections and ask again when they have an answer. Server and clients share the
// machine, so the figures compare servers, but do not say what one could send to clients elsewhere.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { BlobStore } from '../store/index.js'
import { KiB, MiB, randomBytes, sized } from './support/inputs.js'
import { installPeers } from './support/peers.js'
import { flags, report } from './support/run.js'
import { shuffled } from './support/measure.js'
import { inFolder } from './support/stores.js'

/** @import { Result } from './support/tables.js' */

const JOB = fileURLToPath(new URL('support/serve-job.js', import.meta.url))
const LEN = 16 * KiB
const SIZE = flags.quick ? 4 * MiB : 256 * MiB
const CLIENTS = 32
const ROUNDS = flags.quick ? 2 : 7
/** Requests of each contestant in each round. */
const REQUESTS = flags.quick ? 50 : 1500

installPeers()
await inFolder(async folder => {
  const store = await BlobStore.open(`${folder}/store`, { durability: 'process' })
  const file = await open(`${folder}/blob`, 'w')
  const { cid } = await store.put(async function * () {
    for (let at = 0; at < SIZE; at += MiB) {
      const piece = randomBytes(MiB)
      await file.write(piece)
      yield piece
    }
  }())
  await file.close()
  await store.close()
  const servers = [await start('baobox', `${folder}/store`), await start('sirv', folder)]
  const [ours, sirv] = servers.map(({ url }) => url)
  const place = () => Math.floor(Math.random() * SIZE / LEN) * LEN
  const range = (url, start) => ({ url, headers: { range: `bytes=${start}-${start + LEN - 1}` } })
  const contestants = {
    'baobox, a range': () => range(`${ours}/blobs/${cid}`, place()),
    'baobox, a slice': () => {
      const start = place()
      return { url: `${ours}/blobs/${cid}?format=bao-slice&start=${start}&end=${start + LEN}`, headers: {} }
    },
    'sirv, a range, not verified': () => range(`${sirv}/blob`, place())
  }
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
  const noSamples = () => Object.fromEntries(Object.keys(contestants).map(name => [name, []]))
  /** @type {Result[]} */
  const results = [
    { name: 'one client, p50', bytes: LEN, unit: 'time', samples: noSamples() },
    { name: 'one client, p99', bytes: LEN, unit: 'time', samples: noSamples() },
    { name: `${CLIENTS} clients`, bytes: LEN, unit: 'rate', samples: noSamples() }
  ]
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, next] of shuffled(Object.entries(contestants))) {
      const alone = await load(agent, next, 1, REQUESTS)
      const together = await load(agent, next, CLIENTS, REQUESTS)
      if (round === 0) continue // warms up
      const figures = [quantile(alone.times, 0.5), quantile(alone.times, 0.99), together.ns / REQUESTS]
      results.forEach(({ samples }, i) => { samples[name].push(figures[i]) })
    }
  }
  agent.destroy()
  const [memory, memoryOfSirv] = await Promise.all(servers.map(({ stop }) => stop()))
  report('serve', `parts of ${sized(LEN)} of ${sized(SIZE)} over HTTP`, results, { form: 'ranking' })
  const samples = { baobox: [memory], 'sirv, not verified': [memoryOfSirv] }
  report('serve', `parts of ${sized(LEN)} of ${sized(SIZE)} over HTTP: memory of the server`,
    [{ name: 'memory', bytes: SIZE, unit: 'megabytes', samples }], { form: 'ranking' })
})

/** Starts a server in a process of its own. @returns its URL, and a function that ends it */
async function start (kind, where) {
  const child = spawn(process.execPath, [JOB, kind, where], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)
  const [url] = await once(lines, 'line')
  return {
    url,
    /** @returns {Promise<number>} peak memory in bytes */
    stop: async () => {
      child.stdin.end()
      const [[memory]] = await Promise.all([once(lines, 'line'), once(child, 'exit')])
      return Number(memory)
    }
  }
}

/** Sends requests from several clients. @returns nanoseconds of all, and of each */
async function load (agent, next, clients, count) {
  const times = []
  let left = count
  const start = performance.now()
  await Promise.all(Array.from({ length: clients }, async () => {
    while (left-- > 0) {
      const began = performance.now()
      await ask(agent, next())
      times.push((performance.now() - began) * 1e6)
    }
  }))
  return { ns: (performance.now() - start) * 1e6, times }
}

/** Asks once, and reads the whole answer. */
function ask (agent, { url, headers }) {
  return new Promise((resolve, reject) => {
    request(url, { agent, headers }, response => {
      let len = 0
      response.on('data', piece => { len += piece.length })
      response.on('end', () => {
        if (response.statusCode < 300 && len >= LEN) resolve(len)
        else reject(new Error(`${url}: ${response.statusCode}, ${len} bytes`))
      })
    }).on('error', reject).end()
  })
}

function quantile (times, share) {
  return times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) * share)]
}
