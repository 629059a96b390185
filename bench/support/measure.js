// Measures contestants side by side. The speed of a machine changes from second to second, so every round lets each
// contestant run for a moment, in another order each time, and contestants are compared within rounds.

/** The least nanoseconds of a sample: many times the clock's resolution, but shorter than most changes of speed. */
const SAMPLE_NS = 1e6

/**
 * @typedef {object} Effort
 * @property {number} warmUpNs  per contestant, before anything counts
 * @property {number} budgetNs  for all rounds of one case, once there are `enoughRounds`
 * @property {number} patienceNs  for all rounds of one case whose calls are long, once there are `fewRounds`
 * @property {number} fewRounds
 * @property {number} enoughRounds
 * @property {number} maxRounds
 */

/** @type {Effort} */
export const FULL = { warmUpNs: 250e6, budgetNs: 2e9, patienceNs: 15e9, fewRounds: 9, enoughRounds: 31, maxRounds: 401 }
/** Only shows that a bench works; its figures mean nothing. @type {Effort} */
export const QUICK = { warmUpNs: 1e6, budgetNs: 10e6, patienceNs: 100e6, fewRounds: 2, enoughRounds: 3, maxRounds: 5 }

/** @typedef {() => unknown} Contestant  its result is dropped; a promise is awaited, and the wait is measured, too */

/**
 * @param {Record<string, Contestant>} contestants
 * @param {Effort} effort
 * @returns {Promise<Record<string, number[]>>} nanoseconds per call, one number per round: those at the same index
 *  were taken in the same round
 */
export async function measure (contestants, { warmUpNs, budgetNs, patienceNs, fewRounds, enoughRounds, maxRounds }) {
  const entrants = []
  for (const [name, run] of Object.entries(contestants)) entrants.push({ name, ...await warmedUp(run, warmUpNs) })
  const samples = Object.fromEntries(entrants.map(({ name }) => [name, /** @type {number[]} */ ([])]))

  const start = now()
  for (let round = 0; round < maxRounds; round++) {
    const spent = now() - start
    if (round >= enoughRounds && spent > budgetNs) break
    if (round >= fewRounds && spent > patienceNs) break
    for (const { name, time, run, calls } of shuffled(entrants)) {
      samples[name].push(await timeSomewhere(time, run, calls) / calls)
    }
  }
  return samples
}

/**
 * Runs a contestant until it is warm. Chooses how it is timed, and how many calls make a sample.
 *
 * @param {Contestant} run @param {number} warmUpNs
 */
async function warmedUp (run, warmUpNs) {
  const first = run()
  const isAsync = first instanceof Promise
  await first
  const time = isAsync ? timeAwaited : timeCalls
  const deadline = now() + warmUpNs
  for (let calls = 1; ;) {
    const ns = await time(run, calls)
    if (ns < SAMPLE_NS / 2) calls *= 2
    else if (now() >= deadline) return { run, time, calls: Math.ceil(calls * Math.max(1, SAMPLE_NS / ns)) }
  }
}

const PADDING = Array(512).fill(0)

/**
 * Times calls from another depth of the stack each time. Compiled code with many spilled registers runs at a third of
 * its speed if one of them straddles two pages of the stack. That is so at about one depth in a hundred, and a loop at
 * one depth would be slow or quick by chance for as long as it runs. Unused arguments move the stack.
 *
 * @param {typeof timeCalls | typeof timeAwaited} time @param {Contestant} run @param {number} calls
 * @returns {number | Promise<number>} nanoseconds
 */
const timeSomewhere = (time, run, calls) =>
  Reflect.apply(time, undefined, [run, calls, ...PADDING.slice(Math.random() * PADDING.length)])

/** @param {Contestant} run @param {number} calls @returns {number} nanoseconds */
function timeCalls (run, calls) {
  const start = now()
  for (let i = 0; i < calls; i++) run()
  return now() - start
}

/** @param {Contestant} run @param {number} calls @returns {Promise<number>} nanoseconds */
async function timeAwaited (run, calls) {
  const start = now()
  for (let i = 0; i < calls; i++) await run()
  return now() - start
}

const now = () => performance.now() * 1e6

/** A shuffled copy (Fisher and Yates). @template T @param {T[]} items @returns {T[]} */
export function shuffled (items) {
  const copy = items.slice()
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1))
    ;[copy[i], copy[j]] = [copy[j], copy[i]]
  }
  return copy
}
