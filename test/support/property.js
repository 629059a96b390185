// Checks properties with random cases. Cases that once failed are kept in test/property/seeds.json, by seed and path,
// and replayed before others are drawn: new ones, or with SEED always the same. When the arbitraries of a property
// change, drop its seeds: they then mean other cases.
import fc from 'fast-check'
import { SEED, readJson } from '#runtime'
import { atEffort } from './effort.js'

const seeds = await readJson('property/seeds.json')

/**
 * @param {string} name  the property's name in seeds.json
 * @param {any} property  a property of fast-check, sync or async
 * @param {number} [runs]
 */
export async function holds (name, property, runs = 100) {
  for (const known of seeds[name] ?? []) await fc.assert(property, { numRuns: 1, ...known })
  const result = await fc.check(property, { numRuns: atEffort(runs), ...SEED !== undefined && { seed: SEED } })
  if (result.failed) {
    const entry = JSON.stringify({ seed: result.seed, path: result.counterexamplePath })
    const hint = `To keep this case, add to "${name}" in seeds.json: ${entry}`
    const error = result.errorInstance
    throw new Error(`${fc.defaultReportMessage(result)}\n\n${error?.stack ?? error}\n\n${hint}`, { cause: error })
  }
}

/** Sizes of blobs, often near the border of a chunk. @param {number} max */
export const sizes = max => fc.oneof(
  fc.nat(max),
  fc.tuple(
    fc.nat(Math.floor(max / 1024) - 1), fc.constantFrom(-1, 0, 1)
  ).map(([chunks, by]) => Math.max(0, chunks * 1024 + by))
)

/** Boundary lists of up to three ranges, which may be beyond the end of a blob of `max` bytes. */
export const boundaries = max => fc.oneof(
  { weight: 8, arbitrary: fc.uniqueArray(fc.nat(Math.ceil(max / 1024) + 4), { maxLength: 6 }).map(sorted) },
  { weight: 1, arbitrary: fc.constantFrom([], [0], [0, 1], [Number.MAX_SAFE_INTEGER], [0, 1, Number.MAX_SAFE_INTEGER]) }
)

export const groupLogs = fc.integer({ min: 0, max: 5 })

const sorted = numbers => numbers.sort((a, b) => a - b)

/** Options for the functions under test, in one of the three modes. */
export const keys = fc.option(fc.uint8Array({ minLength: 32, maxLength: 32 }), { nil: undefined })

/**
 * Cuts `bytes` into pieces at any places; some pieces may be empty.
 *
 * @param {number[]} places  each between 0 and 1
 */
export function cutAt (bytes, places) {
  const cuts = [0, ...sorted(places.map(place => Math.floor(place * bytes.length))), bytes.length]
  return cuts.slice(1).map((end, i) => bytes.subarray(cuts[i], end))
}

export const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 })
