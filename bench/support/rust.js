// The crates bao and bao-tree, measured by bench/rust, as rows next to ours. They ran in another process on the
// same machine, minutes before, so our speeds and theirs never shared a round. A fair comparison is the
// share of its own hash that each one reaches, because an encoding and its hash took turns.

import { compileRelease, outputOf } from './cargo.js'
import { MiB } from './inputs.js'
import { measure } from './measure.js'
import { effort, flags, report } from './run.js'

/** @import { Case } from './run.js' */
/** @import { Result } from './tables.js' */

const FOLDER = new URL('../rust/', import.meta.url)

/** Added after the question of a table with these rows. */
export const ANOTHER_PROCESS = '(rows in Rust: same machine, but a process of its own, minutes apart)'

/**
 * @typedef {object} RustCase
 * @property {'bao' | 'bao-tree'} package
 * @property {string} what
 * @property {number} groupLog
 * @property {number} bytes  that a call processes
 * @property {{ call: number, hash: number }} medians  nanoseconds
 * @property {{ call: number[], hash: number[] }} samples  taken in rounds; hash is blake3::hash of the same bytes
 */

/**
 * Measures the crates. Without cargo, and in quick runs, prints a line on stderr and returns no cases: cargo would
 * compile for longer than all quick benches take.
 *
 * @param {'outboard' | 'encode' | 'verify' | 'slice'} group
 * @param {number} size  bytes of the blob, whole MiB
 * @returns {RustCase[]}
 */
export function measureRust (group, size) {
  try {
    if (flags.quick && !flags.rust) throw new Error('quick runs compile nothing, except with --rust')
    const program = compileRelease(FOLDER, 'baobox-bench-rust', 'bench-rust')
    return JSON.parse(outputOf(program, [group, String(size / MiB), ...flags.quick ? ['--quick'] : []]))
  } catch (error) {
    console.error(`NOT MEASURED: bao and bao-tree in Rust: ${error.message}`)
    return []
  }
}

/**
 * Measures our cases, and prints them in one table with those in Rust.
 *
 * @param {string} bench
 * @param {string} question
 * @param {Iterable<Case>} cases  of two contestants or more: the work in question, then our hash of the same bytes
 * @param {RustCase[]} rust
 * @param {Result['unit']} [unit]  of the rows in Rust
 */
export async function runBesideRust (bench, question, cases, rust, unit) {
  /** @type {Result[]} */
  const results = []
  let names = /** @type {string[]} */ ([])
  for (const { contestants, ...what } of cases) {
    names = Object.keys(contestants)
    results.push({ ...what, samples: await measure(contestants, effort) })
  }
  const [first, hash] = names
  for (const { package: name, what, groupLog, bytes, samples } of rust) {
    const row = { name: `${name} in Rust: ${what}, group log ${groupLog}`, bytes, unit }
    results.push({ ...row, samples: { [first]: samples.call, [hash]: samples.hash } })
  }
  report(bench, `${question} ${ANOTHER_PROCESS}`, results)
}
