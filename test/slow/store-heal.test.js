// Flips one bit in a file of a store, for every kind of file in turn. A store that does not open is rescued. Each
// damaged blob is brought back only by `put` or `receive`, without a repair. No read may give a wrong byte.
//
// A seed chooses the bits: `SEED=7 FLIPS=500 npm run test:slow -- -g heal`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { atEffort } from '../support/effort.js'
import { fill } from './heal-worker.js'

const WORKER = fileURLToPath(new URL('heal-worker.js', import.meta.url))
const { SEED = 1 } = process.env
const FLIPS = Number(process.env.FLIPS ?? atEffort(1000))

/** Runs some trials in a process. @returns {Promise<object[]>} the results until the process ended */
async function trialsFrom (first, sound, copies) {
  const args = [WORKER, sound, copies, SEED, first, FLIPS]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let noise = ''
  child.stderr.on('data', data => { noise += data })
  const exit = once(child, 'close')
  const results = []
  for await (const line of createInterface({ input: child.stdout })) results.push(JSON.parse(line))
  const [code, signal] = await exit
  const trial = first + results.length
  if (signal === 'SIGABRT') results.push({ trial, kind: 'LevelDB', outcome: 'refused: it ends the process' })
  else if (code !== 0) expect.fail(`trial ${trial} of the seed ${SEED}: ${noise.slice(0, 2000)}`)
  return results
}

describe('store: damage that heals', () => {
  let folder
  before(async function () {
    folder = await mkdtemp(join(tmpdir(), 'baobox-'))
    for (const name of ['sound', 'copies']) await mkdir(join(folder, name))
    await fill(join(folder, 'sound'))
  })
  after(() => rm(folder, { recursive: true }))

  it(`${FLIPS} flips (seed ${SEED}) give no wrong byte, put() or receive() brings blobs back`, async function () {
    this.timeout(Math.max(1_800_000, FLIPS * 5000))
    const counts = {}
    const wrong = []
    const refused = []
    let done = 0
    while (done < FLIPS) {
      const results = await trialsFrom(done, join(folder, 'sound'), join(folder, 'copies'))
      done += results.length
      for (const { trial, kind, outcome } of results) {
        counts[kind] ??= {}
        counts[kind][outcome] = (counts[kind][outcome] ?? 0) + 1
        if (outcome === 'WRONG') wrong.push(trial)
        if (outcome.startsWith('refused')) refused.push(`trial ${trial}, ${kind}: ${outcome}`)
      }
    }
    for (const [kind, outcomes] of Object.entries(counts)) {
      console.log(`      ${kind}: ${Object.entries(outcomes).map(([name, count]) => `${name} ${count}`).join(', ')}`)
    }
    expect(wrong, 'trials that gave wrong bytes').to.deep.equal([])
    expect(refused, 'that stay damaged').to.deep.equal([])
  })
})
