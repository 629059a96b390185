// Runs a command and baobox with the same arguments in the same folder, compares what they print, and counts for each
// flag how often that was the same.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { QUIET } from './find.js'

/** The path of the program. */
export const BAOBOX = join(fileURLToPath(new URL('../..', import.meta.url)), 'bin', 'baobox.js')
const LONGEST_OUTPUT = 2 ** 28
const LONGEST = 20_000

/** @typedef {{ code: number, out: Buffer, err: string }} Result */

export class Beside {
  #program
  #name
  #prefix
  /** Differences that are meant, and how often both printed the same. @type {Map<string, [number, string[]]>} */
  #flags = new Map()

  /**
   * @param {string} program  the other command
   * @param {string} name  what it calls itself in messages
   * @param {string[]} prefix  arguments of baobox in front of the shared ones
   */
  constructor (program, name, prefix = []) {
    this.#program = program
    this.#name = name
    this.#prefix = prefix
    this.folder = mkdtempSync(join(tmpdir(), 'baobox-beside-'))
  }

  remove () { rmSync(this.folder, { recursive: true }) }

  at (...names) { return join(this.folder, ...names) }

  /** @param {string[]} args @param {Uint8Array | string} [input] @returns {Result} */
  theirs (args, input = '') { return this.#run(this.#program, args, input) }

  /** @param {string[]} args @param {Uint8Array | string} [input] @returns {Result} */
  ours (args, input = '') { return this.#run(process.execPath, [BAOBOX, ...this.#prefix, ...args], input) }

  /** @param {string} program @param {string[]} args @param {Uint8Array | string} input */
  #run (program, args, input) {
    const env = { ...process.env, ...QUIET, XDG_DATA_HOME: this.folder }
    const options = { cwd: this.folder, input, env, maxBuffer: LONGEST_OUTPUT, timeout: LONGEST }
    const { status, error, stdout, stderr } = spawnSync(program, args, options)
    if (error !== undefined && error.code !== 'EPIPE') throw error
    return { code: status, out: stdout, err: stderr.toString() }
  }

  /**
   * Both must print the same to stdout, end with the same code, and say something on stderr or nothing.
   *
   * @param {string} flag  under which it is counted
   * @param {string[]} args
   * @param {Uint8Array | string} [input]
   * @returns {{ theirs: Result, ours: Result }}
   */
  same (flag, args, input) {
    const [theirs, ours] = [this.theirs(args, input), this.ours(args, input)]
    const what = `${args.join(' ')} (theirs: ${theirs.err}, ours: ${ours.err})`
    expect(ours.out.equals(theirs.out), `stdout of ${what}:\n${theirs.out}\n${ours.out}`).to.equal(true)
    expect(ours.code, `exit code of ${what}`).to.equal(theirs.code)
    expect(ours.err === '', `anything on stderr of ${what}`).to.equal(theirs.err === '')
    this.countSame(flag)
    return { theirs, ours }
  }

  /** Notes that both did the same. @param {string} flag */
  countSame (flag) { this.#entry(flag)[0]++ }

  /** The last line of stderr, without the name of the command. @param {Result} result */
  lastMessage ({ err }) {
    return err.trimEnd().split('\n').at(-1).replace(this.#name, '').replace('baobox', '')
  }

  /** Notes a difference that is meant, and that a test has just shown. @param {string} flag @param {string} text */
  differs (flag, text) { this.#entry(flag)[1].push(text) }

  /** @param {string} flag @returns {[number, string[]]} */
  #entry (flag) {
    const entry = this.#flags.get(flag) ?? [0, []]
    this.#flags.set(flag, entry)
    return entry
  }

  /** Prints a line for each flag. */
  printTable () {
    const width = Math.max(...[...this.#flags.keys()].map(({ length }) => length))
    for (const [flag, [count, differences]] of this.#flags) {
      const result = count === 0 ? 'no' : `same output and exit code, ${count} ${count === 1 ? 'case' : 'cases'}`
      console.log(`  ${[flag.padEnd(width), result, ...differences.map(text => `differs: ${text}`)].join('  ')}`)
    }
  }
}
