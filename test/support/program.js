// Runs the program as a user would, in a folder of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('../../bin/baobox.js', import.meta.url))

/** What a test run must not inherit. */
const { BAOBOX_STORE, BAOBOX_DEBUG, ...ENV } = process.env

export class Folder {
  /** @param {string} path */
  constructor (path) {
    this.path = path
  }

  at (...names) { return join(this.path, ...names) }

  write (name, bytes) { return writeFile(this.at(name), bytes) }

  /** Starts the program here. Temporary files of its own go where they can be counted. */
  start (args, { env } = {}) {
    const child = spawn(process.execPath, [PROGRAM, ...args], { cwd: this.path, env: { ...ENV, TMPDIR: this.path, TMP: this.path, TEMP: this.path, ...env } })
    child.stdin.on('error', () => {}) // it need not read all
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

/** What a started program has said, once it has ended. */
export async function ended (child) {
  const out = []
  const err = []
  child.stdout.on('data', piece => out.push(piece))
  child.stderr.on('data', piece => err.push(piece))
  const [code] = await once(child, 'close')
  const bytes = new Uint8Array(Buffer.concat(out))
  return { code, bytes, out: Buffer.from(bytes).toString(), err: Buffer.concat(err).toString() }
}

/** A folder for all tests of the surrounding `describe`, gone after them. @returns {Folder} */
export function newFolder () {
  const folder = new Folder('')
  before(async () => { folder.path = await mkdtemp(join(tmpdir(), 'baobox-test-')) })
  after(() => rm(folder.path, { recursive: true }))
  return folder
}
