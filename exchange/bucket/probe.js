// Tests whether a bucket keeps the promises on which several writers rely.

import { assertKnownOptions } from '../../lib/core/options.js'
import { allOf } from '../../lib/source/async-util.js'
import { base16 } from 'multiformats/bases/base16'
import { assertBucket } from './bucket.js'
import { bucketUnsafe } from './errors.js'
import { readAll } from './read-all.js'

/** @import { Bucket } from './bucket.js' */

/** How many creates of one key race, and how many keys are raced for. A race that is not atomic may look right once. */
const RACERS = 8
const RACES = 4
const ID_LEN = 8
/** The maximum length of the objects of a probe. */
const MAX_LEN = 64

/**
 * Tests whether a bucket can be used by several writers at the same time. It writes some dozens of small objects under
 * `probe/` and a random name, and deletes them:
 *
 * - Of eight creates of one key at the same time, one writes, and its object is the one that is read. This is tried
 *   with four keys.
 * - An object that was written or deleted is so in the next read and the next list.
 * - A create of a key that is there does not write.
 *
 * With several endpoints, each of them is asked, and each must see what the others have done. A probe finds stores
 * that ignore conditions. It cannot prove that a store of many machines never breaks a promise: docs/bucket.md says
 * what each store promises.
 *
 * @param {Bucket} bucket
 * @param {{ others?: Bucket[], signal?: AbortSignal }} [options]  `others`: the same bucket through other endpoints
 * @returns {Promise<{ endpoints: number, creates: number }>} how many endpoints and racing creates were tested
 * @throws {import('../../lib/core/errors.js').BaoError} BUCKET_UNSAFE, whose message says what was seen; errors of the
 *   bucket
 */
export async function probe (bucket, options = {}) {
  assertBucket(bucket)
  assertKnownOptions(options, ['others', 'signal'])
  const { others = [], signal } = options
  for (const other of others) assertBucket(other, 'others')
  const run = new Probe([bucket, ...others], signal)
  try {
    for (let i = 0; i < RACES; i++) await run.race(`race-${i}`)
    await run.seeWrites()
    await run.createAgain()
    await run.seeDeletes()
  } finally {
    await run.clear()
  }
  if (run.faults.length > 0) throw bucketUnsafe(bucket.location, run.faults)
  return { endpoints: 1 + others.length, creates: RACES * RACERS }
}

class Probe {
  #endpoints
  #signal
  #folder = `probe/${base16.baseEncode(crypto.getRandomValues(new Uint8Array(ID_LEN)))}/`
  #keys = /** @type {Set<string>} */ (new Set())
  /** What was seen. @type {string[]} */
  faults = []

  /** @param {Bucket[]} endpoints @param {AbortSignal} [signal] */
  constructor (endpoints, signal) {
    this.#endpoints = endpoints
    this.#signal = signal
  }

  /** @param {string} name */
  async race (name) {
    const bodies = Array.from({ length: RACERS }, (_, i) => `${name} of ${i}`)
    const results = await allOf(bodies.map((body, i) => this.#put(this.#endpointOf(i), name, body, { ifAbsent: true })))
    const winners = bodies.filter((_, i) => results[i].isWritten)
    if (winners.length > 1) this.faults.push(`of ${RACERS} racing creates of one key, ${winners.length} succeeded`)
    // Nobody may have been told that it won: the answer can be lost, and then the next try finds the object.
    const possible = winners.length === 0 ? bodies : winners
    for (const read of await this.#readAll(name)) {
      if (read === undefined) this.faults.push('a key that was created was not there in the next read')
      else if (!possible.includes(read)) this.faults.push('the object of a create that was refused was read')
    }
  }

  /** Writes through each endpoint, and reads and lists through all of them. */
  async seeWrites () {
    for (const [i, endpoint] of this.#endpoints.entries()) {
      const name = `written-${i}`
      for (const body of ['first', 'second']) {
        await this.#put(endpoint, name, body)
        for (const read of await this.#readAll(name)) {
          if (read !== body) this.faults.push('a read did not see the write before it')
        }
        for (const { size } of await this.#listAll(name)) {
          if (size !== body.length) this.faults.push('a list did not see the write before it')
        }
      }
    }
  }

  /** Creates a key that is there, through each endpoint. */
  async createAgain () {
    const name = 'created'
    await this.#put(this.#endpoints[0], name, 'first', { ifAbsent: true })
    for (const endpoint of this.#endpoints) {
      const { isWritten } = await this.#put(endpoint, name, 'other', { ifAbsent: true })
      if (isWritten) this.faults.push('a create of a key that was there succeeded')
      const reads = await this.#readAll(name)
      if (reads.some(read => read !== 'first')) this.faults.push('a create replaced the object that was there')
    }
  }

  /** Deletes through each endpoint, and reads and lists through all of them. */
  async seeDeletes () {
    for (const [i, endpoint] of this.#endpoints.entries()) {
      const name = `written-${i}`
      await endpoint.delete(this.#folder + name, { signal: this.#signal })
      for (const read of await this.#readAll(name)) {
        if (read !== undefined) this.faults.push('a read did not see the deletion before it')
      }
      for (const { size } of await this.#listAll(name)) {
        if (size !== undefined) this.faults.push('a list did not see the deletion before it')
      }
    }
  }

  /** Deletes the objects of the probe, and says each fault once. */
  async clear () {
    this.faults = [...new Set(this.faults)]
    await Promise.allSettled([...this.#keys].map(key => this.#endpoints[0].delete(key)))
  }

  /** @param {number} i */
  #endpointOf (i) { return this.#endpoints[i % this.#endpoints.length] }

  /** @param {Bucket} endpoint @param {string} name @param {string} body @param {{ ifAbsent?: boolean }} [options] */
  #put (endpoint, name, body, options) {
    const key = this.#folder + name
    this.#keys.add(key)
    return endpoint.put(key, new TextEncoder().encode(body), { ...options, signal: this.#signal })
  }

  /** What each endpoint reads. @param {string} name @returns {Promise<(string | undefined)[]>} */
  #readAll (name) {
    return allOf(this.#endpoints.map(async endpoint => {
      const object = await endpoint.get(this.#folder + name, { start: 0, end: MAX_LEN }, { signal: this.#signal })
      return object && new TextDecoder().decode(await readAll(object, MAX_LEN))
    }))
  }

  /**
   * The size of an object in the list of each endpoint; undefined where it is not in the list.
   *
   * @param {string} name @returns {Promise<{ size?: number }[]>}
   */
  #listAll (name) {
    return allOf(this.#endpoints.map(async endpoint => {
      const list = endpoint.list(this.#folder, '', { signal: this.#signal })
      for await (const { key, size } of list) if (key === this.#folder + name) return { size }
      return {}
    }))
  }
}
