// A process that does one task on a long file, and prints the memory that it took; memory.js starts it.
//
//   node memory-job.js JOB OPTIONS FOLDER     prints { idle, held, resident }, in bytes

import { execFileSync, spawn } from 'node:child_process'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { closeWorkers, hashStream, warmup } from '../../lib/index.js'
import { createOutboard, encodeStream, openOutboard, writeOutboard } from '../../encoder/index.js'
import { validRanges, verifyStream } from '../../verifier/index.js'

/** @import { PagedOutboard } from '../../lib/outboard/paged-outboard.js' */

const [job, options, folder] = process.argv.slice(2)
const { groupLog, threads, reuse } = JSON.parse(options)
const blob = join(folder, 'blob')

const held = () => {
  const { heapUsed, external } = process.memoryUsage() // `external` includes ArrayBuffers
  return heapUsed + external
}

/** @type {Record<string, () => Promise<unknown>>} */
const JOBS = {
  hashStream: () => hashStream(blob, { threads, onProgress: sample }),
  createOutboard: () => createOutboard(blob, { groupLog, threads, onProgress: sample }),
  writeOutboard: () => writeOutboard(blob, join(folder, 'written'), { groupLog, threads, onProgress: sample }),
  'writeOutboard of a stream' () {
    const stream = createReadStream(blob, { highWaterMark: 1 << 20 })
    return writeOutboard(stream, join(folder, 'written'), { groupLog, onProgress: sample })
  },
  encodeStream: () => withOutboard(outboard => drain(encodeStream(blob, outboard, { reuse, onProgress: sample }))),
  'encodeStream to verifyStream': () => withOutboard(outboard => {
    const encoded = encodeStream(blob, outboard, { reuse, verify: false, onProgress: sample })
    return drain(verifyStream(encoded, { cid: outboard.root, groupLog, reuse }))
  }),
  /** Verifies the encoding that another process sends. After a failure here, that one would wait for a reader. */
  verifyStream: async () => {
    const pipe = join(folder, 'pipe')
    if (!existsSync(pipe)) execFileSync('mkfifo', [pipe])
    const { info: { cid } } = await outboardFile()
    const args = [fileURLToPath(import.meta.url), 'send', options, folder]
    const sender = spawn(process.execPath, args, { stdio: 'inherit' })
    try {
      await drain(verifyStream(pipe, { cid, groupLog, reuse }))
    } catch (error) {
      sender.kill()
      throw error
    }
  },
  send: () => withOutboard(outboard => {
    const encoding = Readable.from(encodeStream(blob, outboard, { verify: false }))
    return pipeline(encoding, createWriteStream(join(folder, 'pipe')))
  }),
  validRanges: () => withOutboard(outboard => validRanges(blob, outboard, undefined, { onProgress: sample }))
}

// The outboard that other jobs need exists before anything is measured: a process of an earlier row has left it, or
// this one makes it.
if (!['hashStream', 'createOutboard', 'writeOutboard', 'writeOutboard of a stream'].includes(job)) await outboardFile()
warmup()
const idle = process.memoryUsage().rss
const idleHeld = held()
let most = 0
await JOBS[job]()
sample()
await closeWorkers()
if (job !== 'send') console.log(JSON.stringify({ idle, held: most, resident: process.resourceUsage().maxRSS * 1024 }))

function sample () { most = Math.max(most, held() - idleHeld) }

/** @param {AsyncIterable<unknown>} pieces */
async function drain (pieces) {
  let count = 0
  for await (const piece of pieces) {
    if (piece === undefined) throw new Error('nothing')
    if (count++ % 16 === 0) sample()
  }
}

/** @param {(outboard: PagedOutboard) => Promise<unknown>} work */
async function withOutboard (work) {
  const { path, info } = await outboardFile()
  const outboard = await openOutboard(path, info)
  await work(outboard)
  await outboard.close()
}

/** The path of the outboard, and the facts that open it. */
async function outboardFile () {
  const path = join(folder, `outboard${groupLog}`)
  if (!existsSync(path)) {
    const { cid, ...info } = await writeOutboard(blob, path, { groupLog, threads: 1 })
    await writeFile(`${path}.json`, JSON.stringify({ ...info, cid: `${cid}` }))
  }
  return { path, info: JSON.parse(await readFile(`${path}.json`, 'utf8')) }
}
