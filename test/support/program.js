// Runs the command line as a user does, in a temporary folder.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('../../bin/baobox.js', import.meta.url))

/** These variables of the shell must not reach the program under test. */
const { BAOBOX_STORE, BAOBOX_DEBUG, BAOBOX_PUT_TOKEN, NO_COLOR, ...ENV } = process.env

export class Folder {
  /** @param {string} path */
  constructor (path) {
    this.path = path
  }

  at (...names) { return join(this.path, ...names) }

  write (name, bytes) { return writeFile(this.at(name), bytes) }

  /**
   * Starts the program in this folder. Its temporary files go here, too, so that tests see those that are left. The
   * store that is used by default is the folder `baobox`.
   */
  start (args, { env } = {}) {
    const temporary = { TMPDIR: this.path, TMP: this.path, TEMP: this.path }
    const data = { XDG_DATA_HOME: this.path, LOCALAPPDATA: this.path }
    const options = { cwd: this.path, env: { ...ENV, ...temporary, ...data, ...env } }
    const child = spawn(process.execPath, [PROGRAM, ...args], options)
    child.stdin.on('error', () => {}) // the program may end before it has read everything
    return child
  }

  /**
   * Runs the program to its end.
   *
   * @param {string[]} args
   * @param {{ input?: Uint8Array | string, env?: Record<string, string> }} [options]
   */
  async run (args, { input = '', env } = {}) {
    const child = this.start(args, { env })
    child.stdin.end(input)
    return ended(child)
  }
}

/** Waits for the end of a started program: its exit code and its output. */
export async function ended (child) {
  const out = []
  const err = []
  child.stdout.on('data', piece => out.push(piece))
  child.stderr.on('data', piece => err.push(piece))
  const [code] = await once(child, 'close')
  const bytes = new Uint8Array(Buffer.concat(out))
  return { code, bytes, out: Buffer.from(bytes).toString(), err: Buffer.concat(err).toString() }
}

/** A folder for all tests of the surrounding `describe`. It is removed after them. @returns {Folder} */
export function newFolder () {
  const folder = new Folder('')
  before(async () => { folder.path = await mkdtemp(join(tmpdir(), 'baobox-test-')) })
  after(() => rm(folder.path, { recursive: true }))
  return folder
}
