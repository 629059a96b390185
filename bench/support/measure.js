// Measuring contestants side by side. Machines slow down and speed up by the second, so every round lets each contestant run for a
// moment, in another order each time, and what counts is how they compare within rounds.

/** Nanoseconds of a sample, at least: long against the clock's resolution, short against the moods of a machine. */
const SAMPLE_NS = 1e6

/**
 * @typedef {object} Effort
 * @property {number} warmUpNs  per contestant, before anything counts
 * @property {number} budgetNs  for all rounds of one case
 * @property {number} minRounds
 * @property {number} maxRounds
 */

/** @type {Effort} */
export const FULL = { warmUpNs: 250e6, budgetNs: 2e9, minRounds: 31, maxRounds: 401 }
/** Shows that a bench works; its figures mean nothing. @type {Effort} */
export const QUICK = { warmUpNs: 1e6, budgetNs: 10e6, minRounds: 3, maxRounds: 5 }

/**
 * @param {Record<string, () => unknown>} contestants
 * @param {Effort} effort
 * @returns {Record<string, number[]>} nanoseconds per call, one number per round: those at the same index were taken in the same round
 */
export function measure (contestants, { warmUpNs, budgetNs, minRounds, maxRounds }) {
  const entrants = Object.entries(contestants).map(([name, run]) => ({ name, run, calls: callsPerSample(run, warmUpNs) }))
  const samples = Object.fromEntries(entrants.map(({ name }) => [name, /** @type {number[]} */ ([])]))
  const deadline = now() + budgetNs
  for (let round = 0; round < maxRounds && (round < minRounds || now() < deadline); round++) {
    for (const { name, run, calls } of shuffled(entrants)) samples[name].push(timeSomewhere(run, calls) / calls)
  }
  return samples
}

/** Warms up, and finds how many calls last long enough to be timed. @param {() => unknown} run @param {number} warmUpNs */
function callsPerSample (run, warmUpNs) {
  const deadline = now() + warmUpNs
  for (let calls = 1; ;) {
    const ns = time(run, calls)
    if (ns < SAMPLE_NS / 2) calls *= 2
    else if (now() >= deadline) return Math.ceil(calls * Math.max(1, SAMPLE_NS / ns))
  }
}

const PADDING = Array(512).fill(0)

/**
 * Times from another place on the stack whenever it is called. Compiled code with many spilled registers runs at a third of its speed
 * where one of them straddles two pages of the stack, which is about one place in a hundred, and a loop that stays where it is would
 * measure its luck for as long as it runs. Arguments that nobody takes move the stack.
 *
 * @param {() => unknown} run @param {number} calls @returns {number} nanoseconds
 */
const timeSomewhere = (run, calls) => Reflect.apply(time, undefined, [run, calls, ...PADDING.slice(Math.random() * PADDING.length)])

/** @param {() => unknown} run @param {number} calls @returns {number} nanoseconds */
function time (run, calls) {
  const start = now()
  for (let i = 0; i < calls; i++) run()
  return now() - start
}

const now = () => performance.now() * 1e6

/** A shuffled copy (Fisher and Yates). @template T @param {T[]} items @returns {T[]} */
function shuffled (items) {
  const copy = items.slice()
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1))
    ;[copy[i], copy[j]] = [copy[j], copy[i]]
  }
  return copy
}
