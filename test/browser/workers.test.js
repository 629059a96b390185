// Tests that a page hashes in Web Workers, or on its own thread where its policy refuses workers.
import { expect } from 'chai'
import { closeWorkers, hash, hashStream } from '../../lib/index.js'
import { createOutboard, createOutboardSync } from '../../encoder/index.js'
import { same } from '../support/bytes.js'
import { noise } from '../support/inputs.js'

const hasWorkers = new URLSearchParams(globalThis.location.search).get('workers') === 'true'

/** Milliseconds in which a page must report that it has loaded the script of a worker. */
const LOAD_MS = 100_000

/** True if the page has loaded the script of a worker. */
const hasStarted = () => performance.getEntriesByType('resource')
  .some(({ name }) => new URL(name).pathname === '/worker.js')

describe('a page', () => {
  const bytes = noise(9_000_001, 3)
  after(closeWorkers)

  it(`hashes a large Blob ${hasWorkers ? 'on two threads' : 'on one thread, where workers are refused'}`, async () => {
    const blob = new Blob([bytes])
    expect(await hashStream(blob, { threads: 2 })).to.deep.equal(hash(bytes))
    const outboard = await createOutboard(blob, { threads: 2 })
    expect(same(outboard.bytes, createOutboardSync(bytes).bytes)).to.equal(true)
    // The page may be done before its workers start, and Firefox reports them a moment later.
    const end = performance.now() + (hasWorkers ? LOAD_MS : 0)
    while (!hasStarted() && performance.now() < end) await new Promise(resolve => setTimeout(resolve, 20))
    expect(hasStarted()).to.equal(hasWorkers)
  })
})
