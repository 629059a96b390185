// Runs the command `bao`, with files in a temporary folder.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QUIET, find } from './find.js'

const LONGEST_OUTPUT = 2 ** 30

/** @typedef {{ ok: boolean, bytes: Uint8Array, err: string }} Result  `bytes`: its output, on an error up to it */
/** @typedef {{ start: number, count: number }} Span  as on bao's command line, where a count of 0 means 1 */

export class Bao {
  #program
  #folder = mkdtempSync(join(tmpdir(), 'baobox-interop-'))
  /** How often bao was started. */
  runs = 0

  constructor () {
    const found = find('bao')
    if (found === undefined) throw new Error('bao was not found: run npm run test:interop')
    this.#program = found.program
    this.version = found.version
  }

  remove () { rmSync(this.#folder, { recursive: true }) }

  /** Writes a file that bao can seek in. @param {string} name @param {Uint8Array} bytes @returns {string} its path */
  keep (name, bytes) {
    const path = this.path(name)
    writeFileSync(path, bytes)
    return path
  }

  /** @param {string} name */
  path (name) { return join(this.#folder, name) }

  /** @param {(string | number)[]} args @param {Uint8Array} [input] @returns {Result} */
  run (args, input = new Uint8Array()) {
    this.runs++
    const options = { input, maxBuffer: LONGEST_OUTPUT, env: { ...process.env, ...QUIET } }
    const { status, error, stdout, stderr } = spawnSync(this.#program, args.map(String), options)
    // bao may end before it has read all of its input.
    if (error !== undefined && error.code !== 'EPIPE') throw error
    if (status !== 0 && status !== 1) throw new Error(`bao ${args.join(' ')} ended with ${status}: ${stderr}`)
    return { ok: status === 0, bytes: new Uint8Array(stdout), err: stderr.toString() }
  }

  /** @param {string} path */
  hash (path) { return text(outputOf(this.run(['hash', path]))).trim() }

  /** The combined encoding. @param {string} path @returns {Uint8Array} */
  encode (path) { return this.#outputFile(out => ['encode', path, out]) }

  /** The outboard. @param {string} path @returns {Uint8Array} */
  outboard (path) { return this.#outputFile(out => ['encode', path, `--outboard=${out}`]) }

  /** @param {(out: string) => string[]} argsOf */
  #outputFile (argsOf) {
    const out = this.path('out')
    outputOf(this.run(argsOf(out)))
    const bytes = new Uint8Array(readFileSync(out))
    rmSync(out)
    return bytes
  }

  /** @param {string} root @param {Uint8Array} combined */
  decode (root, combined) { return this.run(['decode', root], combined) }

  /** @param {string} root @param {string} path  of the blob @param {string} outboard  its path */
  decodeOutboard (root, path, outboard) { return this.run(['decode', root, path, `--outboard=${outboard}`]) }

  /** Part of a blob, by seeking. @param {string} root @param {string} combined  its path @param {Span} span */
  seek (root, combined, { start, count }) {
    return this.run(['decode', root, combined, `--start=${start}`, `--count=${count}`])
  }

  /**
   * @param {Span} span
   * @param {string} path  of a combined encoding, or with `outboard` of the blob
   * @param {string} [outboard]  its path
   */
  slice ({ start, count }, path, outboard) {
    const args = outboard === undefined ? [] : [`--outboard=${outboard}`]
    return outputOf(this.run(['slice', start, count, path, ...args]))
  }

  /** @param {string} root @param {Span} span @param {Uint8Array} slice */
  decodeSlice (root, { start, count }, slice) { return this.run(['decode-slice', root, start, count], slice) }
}

/** @param {Result} said @returns {Uint8Array} */
function outputOf ({ ok, bytes, err }) {
  if (!ok) throw new Error(err)
  return bytes
}

/** @param {Uint8Array} bytes */
const text = bytes => new TextDecoder().decode(bytes)
