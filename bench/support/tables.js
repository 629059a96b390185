// Decides which figures a table has, and prints them as rows of text.

import { bestOf, median, speedups, spread } from './statistics.js'

/**
 * @typedef {object} Result  of one case
 * @property {string} name  of the case
 * @property {number} bytes  that a call processes
 * @property {keyof typeof UNITS} [unit] in which samples are printed; default: the time of a call up to 1 KiB,
 *  bytes per second above
 * @property {Record<string, number[]>} samples nanoseconds per call, or bytes of memory: the less, the better; the
 *  first contestant is the one in question
 */

/**
 * @typedef {object} Table
 * @property {string} bench
 * @property {string} question
 * @property {keyof typeof FORMS} form
 * @property {string[]} [rivals]  contestants among which the quickest is named
 * @property {Result[]} results
 */

/** Up to this many bytes, the time of a call is more useful than bytes per second. */
const SMALL = 1024

/** @type {Record<string, { from: (sample: number, bytes: number) => number, show: (figure: number) => string }>} */
const UNITS = {
  time: {
    from: ns => ns,
    show (ns) {
      if (ns < 1e4) return `${ns.toFixed(0)} ns`
      return ns < 1e6 ? `${(ns / 1e3).toFixed(1)} us` : `${(ns / 1e6).toFixed(1)} ms`
    }
  },
  speed: { from: (ns, bytes) => bytes / ns * 1000, show: speed => `${speed.toFixed(0)} MB/s` },
  memory: { from: bytes => bytes, show: bytes => `${bytes} B` },
  megabytes: { from: bytes => bytes / 1e6, show: megabytes => `${megabytes.toFixed(0)} MB` },
  times: { from: factor => factor, show: factor => factor.toFixed(2) },
  rate: { from: ns => 1e9 / ns, show: rate => `${rate.toFixed(0)}/s` }
}
/** Units of costs other than time. They get no ratios: a ratio to almost nothing means nothing. */
const COSTS = ['megabytes', 'times']

/**
 * The rows of a table; the first is its head.
 *
 * @param {Table} table
 * @returns {string[][]}
 */
export const rowsOf = table => FORMS[table.form](table)

const FORMS = {
  /**
   * A row is a case: the speed of the first contestant, then for each other its speed, and how many times as fast as it
   * the first is.
   */
  comparison ({ results, rivals = [] }) {
    const [first, ...others] = contestantsOf(results)
    const hasRivals = others.some(name => rivals.includes(name))
    return [
      ['', first, ...hasRivals ? ['x best npm'] : [], ...others.flatMap(name => [name, 'x'])],
      ...results.map(result => [
        result.name,
        speed(result, first),
        ...hasRivals ? [best(result, rivals)] : [],
        ...others.flatMap(name => name in result.samples
          ? [speed(result, name), ratio(speedups(result.samples, first, name), !hasRivals)]
          : ['-', '-'])
      ])
    ]
  },

  /** A row is a contestant, and how many times as fast as the first it is; only speeds have this ratio. */
  ranking ({ results }) {
    const names = contestantsOf(results)
    const isSpeed = (/** @type {Result} */ result) => !COSTS.includes(unitOf(result))
    return [
      ['', ...results.flatMap(result => [result.name, ...isSpeed(result) ? [`x ${names[0]}`] : []])],
      ...names.map((name, i) => [name, ...results.flatMap(result => {
        const cells = name in result.samples
          ? [speed(result, name), i === 0 ? '' : ratio(speedups(result.samples, name, names[0]))]
          : ['-', '-']
        return isSpeed(result) ? cells : [cells[0]]
      })])
    ]
  },

  /** A row is a step: how many times as fast as the step before it is, and as the first. */
  chain ({ results }) {
    const names = contestantsOf(results)
    return [
      ['', ...results.flatMap(({ name }) => [name, 'x before', 'x first'])],
      ...names.map(name => [name, ...results.flatMap(result => {
        if (!(name in result.samples)) return ['-', '-', '-']
        const steps = Object.keys(result.samples)
        const at = steps.indexOf(name)
        if (at === 0) return [speed(result, name), '', '']
        const ratios = [steps[at - 1], steps[0]].map(other => ratio(speedups(result.samples, name, other)))
        return [speed(result, name), ...ratios]
      })])
    ]
  }
}

/** Contestants in the order of the case that has most of them. @param {Result[]} results */
function contestantsOf (results) {
  const lists = results.map(({ samples }) => Object.keys(samples))
  return [...new Set(lists.sort((a, b) => b.length - a.length).flat())]
}

/** Names on the left, figures on the right. @param {string[][]} rows */
export function plainText (rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map(row => row[column].length)))
  const padded = (/** @type {string} */ cell, /** @type {number} */ column) =>
    column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column])
  return rows.map(row => row.map(padded).join('  ').trimEnd()).join('\n')
}

/** Pages are narrow, so a figure in a column `x` moves into the cell of its speed. @param {string[][]} rows */
export function markdown ([head, ...rows]) {
  const names = head.filter(name => name !== 'x')
  const narrow = rows.map(row => row
    .map((cell, i) => head[i + 1] === 'x' && row[i + 1] !== '-' ? `${cell}, x ${row[i + 1]}` : cell)
    .filter((_, i) => head[i] !== 'x'))
  const rule = names.map((_, column) => column === 0 ? '---' : '--:')
  return [names, rule, ...narrow].map(row => `| ${row.join(' | ')} |`).join('\n')
}

/** Samples in the unit in which they are printed. @param {Result} result @param {number[]} samples */
export const inUnits = (result, samples) => samples.map(sample => UNITS[unitOf(result)].from(sample, result.bytes))

/** @param {Result} result @returns {(figure: number) => string} */
export const showSpeed = result => UNITS[unitOf(result)].show

/** @param {Result} result */
const unitOf = ({ bytes, unit = bytes <= SMALL ? 'time' : 'speed' }) => unit

/** @param {Result} result @param {string} name */
const speed = (result, name) => showSpeed(result)(median(inUnits(result, result.samples[name])))

/**
 * The quickest of the rivals, and how many times as fast as it the first contestant is.
 *
 * @param {Result} result
 * @param {string[]} rivals
 */
function best ({ samples }, rivals) {
  const present = rivals.filter(name => name in samples)
  if (present.length === 0) return '-'
  const name = bestOf(samples, present)
  return `${ratio(speedups(samples, Object.keys(samples)[0], name))} ${name}`
}

/** @param {number[]} samples @param {boolean} [withSpread] */
const ratio = (samples, withSpread = true) =>
  median(samples).toFixed(2) + (withSpread ? ` ±${(100 * spread(samples)).toFixed(0)} %` : '')
