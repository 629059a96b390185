// The crates bao and bao-tree, measured by bench/rust, as rows beside ours. That is another process, which ran on the
// same machine, minutes before: a speed of ours and one of theirs never shared a round. What compares fairly is the
// share of its own hash that each one keeps, since there both sides took turns.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MiB } from './inputs.js'
import { measure } from './measure.js'
import { effort, flags, report } from './run.js'

/** @import { Case } from './run.js' */
/** @import { Result } from './tables.js' */

const FOLDER = fileURLToPath(new URL('../rust/', import.meta.url))
const TARGET = fileURLToPath(new URL('../../node_modules/.cache/bench-rust/', import.meta.url))
const PROGRAM = join(TARGET, 'release', 'baobox-bench-rust')
const LONGEST_BUILD = 10 * 60_000

/** Goes behind the question of a table with such rows. */
export const ANOTHER_PROCESS = '(rows in Rust: same machine, but a process of its own, minutes apart)'

/**
 * @typedef {object} RustCase
 * @property {'bao' | 'bao-tree'} package
 * @property {string} what
 * @property {number} groupLog
 * @property {number} bytes  that a call goes over
 * @property {{ call: number, hash: number }} medians  nanoseconds
 * @property {{ call: number[], hash: number[] }} samples  taken in rounds; hash is blake3::hash of the same bytes
 */

/**
 * What the crates do, or nothing where there is no cargo, which is said on stderr.
 *
 * @param {'outboard' | 'encode' | 'verify' | 'slice'} group
 * @param {number} size  bytes of the blob, whole MiB
 * @returns {RustCase[]}
 */
export function measureRust (group, size) {
  const build = ['build', '--release', '--quiet']
  const env = { ...process.env, CARGO_TARGET_DIR: TARGET }
  const built = spawnSync('cargo', build, { cwd: FOLDER, env, encoding: 'utf8', timeout: LONGEST_BUILD })
  if (built.status !== 0) return nothing(reasonOf('cargo', built))
  const ran = spawnSync(PROGRAM, [group, String(size / MiB), ...flags.quick ? ['--quick'] : []], { encoding: 'utf8' })
  return ran.status === 0 ? JSON.parse(ran.stdout) : nothing(reasonOf('bench/rust', ran))
}

/** @param {string} reason @returns {RustCase[]} */
function nothing (reason) {
  console.error(`NOT MEASURED: bao and bao-tree in Rust: ${reason}`)
  return []
}

/** @param {string} name @param {ReturnType<typeof spawnSync>} result */
function reasonOf (name, { error, stderr, status }) {
  if (error?.code === 'ENOENT') return `${name} is not installed`
  const line = String(stderr).split('\n').find(line => line.startsWith('error')) ?? ''
  return error?.message ?? `${name} exited with ${status}: ${line}`
}

/**
 * Measures our cases, and prints them in one table with those in Rust.
 *
 * @param {string} bench
 * @param {string} question
 * @param {Iterable<Case>} cases  of two contestants or more: a thing to do, then our hash of the same bytes
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
