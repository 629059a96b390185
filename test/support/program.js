// Runs the command line as a user does, in a temporary folder.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('../../bin/baobox.js', import.meta.url))
const HOST = fileURLToPath(new URL('program-host.js', import.meta.url))

const isDeno = process.versions.deno !== undefined

/** Variables of the shell that must not reach the program under test. */
const { BAOBOX_STORE, BAOBOX_DEBUG, BAOBOX_PUT_TOKEN, NO_COLOR, ...ENV } = process.env

/** Bun and Deno put nothing of their own into the folder for caches. */
const RUNTIMES = {
  BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0',
  DENO_DIR: ENV.DENO_DIR ?? join(ENV.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'deno')
}

export class Folder {
  /** Commands that have run as a process of their own. */
  #known = new Set()
  /** @type {Host | undefined} */
  #host

  /** @param {string} path */
  constructor (path) {
    this.path = path
  }

  at (...names) { return join(this.path, ...names) }

  /** Removes a file or folder, if there is one. */
  clear (name) { return rm(this.at(name), { recursive: true, force: true }) }

  write (name, bytes) { return writeFile(this.at(name), bytes) }

  /**
   * The environment of the program in this folder. Its temporary files go there, too, so that tests see leftover ones.
   * The default store is the folder `baobox`.
   */
  #options (env) {
    const temporary = { TMPDIR: this.path, TMP: this.path, TEMP: this.path }
    const data = { XDG_DATA_HOME: this.path, XDG_CACHE_HOME: this.at('cache'), LOCALAPPDATA: this.path }
    return { cwd: this.path, env: { ...ENV, ...temporary, ...data, ...RUNTIMES, ...env } }
  }

  /** Starts the program as a process. */
  start (args, { env } = {}) {
    const child = spawn(process.execPath, [PROGRAM, ...args], this.#options(env))
    child.stdin.on('error', () => {}) // The program may end before it has read everything.
    return child
  }

  /**
   * Runs the program to its end. The first run of a command in a folder is a process of its own, which must end by
   * itself. Later runs share a process, which is faster.
   *
   * @param {string[]} args
   * @param {{ input?: Uint8Array | string, env?: Record<string, string> }} [options]
   */
  async run (args, { input = '', env } = {}) {
    if (this.#known.has(args[0])) {
      this.#host ??= new Host()
      return this.#host.run({ args, ...this.#options(env), input })
    }
    this.#known.add(args[0])
    const child = this.start(args, { env })
    child.stdin.end(input)
    return ended(child)
  }

  async remove () {
    this.#host?.end()
    await rm(this.path, { recursive: true })
  }
}

/** A process of program-host.js, which runs command lines one after the other. */
class Host {
  #child = spawn(process.execPath, [HOST], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  /** How to resolve or reject the promises of runs, by their ids. */
  #waiting = new Map()
  #count = 0

  constructor () {
    this.#child.on('message', ({ id, code, out, err }) => {
      const [bytes, errors] = [out, err].map(text => Buffer.from(text, 'base64'))
      this.#waiting.get(id).resolve(resultOf(code, bytes, errors))
      this.#waiting.delete(id)
    })
    this.#child.on('close', (code, signal) => {
      const error = new Error(`the process of program-host.js ended: ${signal ?? `exit code ${code}`}`)
      for (const { reject } of this.#waiting.values()) reject(error)
    })
  }

  run ({ input, ...run }) {
    return new Promise((resolve, reject) => {
      const id = this.#count++
      this.#waiting.set(id, { resolve, reject })
      this.#child.send({ id, ...run, input: Buffer.from(input).toString('base64') })
    })
  }

  end () { this.#child.disconnect() }
}

/** Waits for the end of a started program. Returns its exit code and its output. */
export async function ended (child) {
  const out = []
  const err = []
  child.stdout.on('data', piece => out.push(piece))
  child.stderr.on('data', piece => err.push(piece))
  const [code] = await once(child, 'close')
  return resultOf(code, Buffer.concat(out), Buffer.concat(err))
}

/**
 * Sends a signal to a started program and waits for its end.
 *
 * @param {import('node:child_process').ChildProcess} child
 * @param {NodeJS.Signals} [signal]
 * @returns {Promise<number | null>} its exit code. Deno reports none for a child that was sent a signal: then 0, if
 *   this signal has ended the child
 */
export async function stopped (child, signal = 'SIGINT') {
  child.kill(signal)
  const [code, cause] = await once(child, 'exit')
  return isDeno && cause === signal ? 0 : code
}

/** @param {number} code @param {Buffer} out @param {Buffer} err */
const resultOf = (code, out, err) => ({ code, bytes: new Uint8Array(out), out: `${out}`, err: `${err}` })

/** Makes a folder for all tests of the surrounding `describe`, and removes it after them. @returns {Folder} */
export function newFolder () {
  const folder = new Folder('')
  before(async () => { folder.path = await mkdtemp(join(tmpdir(), 'baobox-test-')) })
  after(() => folder.remove())
  return folder
}
