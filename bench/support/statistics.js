// Statistics of samples that do not depend on their distribution.

/** @param {number[]} samples  at least one @returns {number} */
export const median = samples => quantile(samples, 0.5)

/**
 * Half the distance between the quartiles, as a share of the median.
 *
 * @param {number[]} samples at least one
 * @returns {number}
 */
export const spread = samples => (quantile(samples, 0.75) - quantile(samples, 0.25)) / 2 / median(samples)

/**
 * How many times as fast as another contestant one was, round by round: within a round the machine has the same speed.
 *
 * @param {Record<string, number[]>} samples  nanoseconds
 * @param {string} one
 * @param {string} other
 */
export const speedups = (samples, one, other) => samples[one].map((ns, round) => samples[other][round] / ns)

/**
 * The quickest contestant, by its ratio to the first of them within rounds.
 *
 * @param {Record<string, number[]>} samples  nanoseconds
 * @param {string[]} names  at least one
 */
export const bestOf = (samples, names) => names
  .map(name => ({ name, speedup: median(speedups(samples, name, names[0])) }))
  .reduce((best, next) => next.speedup > best.speedup ? next : best)
  .name

/** @param {number[]} samples @param {number} q  0 to 1 */
function quantile (samples, q) {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = q * (sorted.length - 1)
  const below = sorted[Math.floor(at)]
  return below + (sorted[Math.ceil(at)] - below) * (at % 1)
}

/**
 * The Mann-Whitney U test, two-sided, as benchstat prints it: the probability that two lists of samples of the same
 * thing differ this much by chance. By the normal approximation, corrected for ties and for continuity, which
 * needs about eight samples on each side.
 *
 * @param {number[]} a
 * @param {number[]} b
 * @returns {number} 0 to 1
 */
export function mannWhitneyP (a, b) {
  const all = [...a.map(value => ({ value, isA: true })), ...b.map(value => ({ value, isA: false }))]
  all.sort((x, y) => x.value - y.value)
  let rankSumOfA = 0
  let ties = 0
  for (let i = 0; i < all.length;) {
    let end = i
    while (end < all.length && all[end].value === all[i].value) end++
    const rank = (i + 1 + end) / 2 // ranks start at 1; equal values share the mean of theirs
    const count = end - i
    ties += count ** 3 - count
    for (; i < end; i++) if (all[i].isA) rankSumOfA += rank
  }
  const n = all.length
  const u = rankSumOfA - a.length * (a.length + 1) / 2
  const mean = a.length * b.length / 2
  const deviation = Math.sqrt(a.length * b.length / 12 * (n + 1 - ties / (n * (n - 1))))
  if (!(deviation > 0)) return 1
  return Math.min(1, 2 * upperTail(Math.max(0, Math.abs(u - mean) - 0.5) / deviation))
}

/**
 * The share of the normal distribution above z. Source: Abramowitz and Stegun, 26.2.17, with an error below 7.5e-8.
 *
 * @param {number} z  at least 0
 */
function upperTail (z) {
  const t = 1 / (1 + 0.2316419 * z)
  const density = Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI)
  return density * t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
}
