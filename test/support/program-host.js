// Runs command lines one after the other in one process, as messages of program.js ask. A process for each of them
// would spend most of its time starting.
import { Readable, Writable } from 'node:stream'
import { main } from '../../bin/main.js'

/** Bytes that a pipe holds: the most that a program reads from it at a time. */
const PIPE_LEN = 65536

let last = Promise.resolve()

process.on('message', run => {
  last = last.then(async () => process.send(await result(run)))
})

/**
 * Runs one command line.
 *
 * @param {{ id: number, args: string[], cwd: string, env: Record<string, string>, input: string }} run  `input`:
 *   stdin, in base64
 * @returns {Promise<{ id: number, code: number, out: string, err: string }>} the output in base64
 */
async function result ({ id, args, cwd, env, input }) {
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  const [out, err] = [new Collector(), new Collector()]
  const streams = { stdin: Readable.from(piecesOf(Buffer.from(input, 'base64'))), stdout: out, stderr: err }
  for (const [name, value] of Object.entries(streams)) {
    Object.defineProperty(process, name, { value, configurable: true })
  }
  return { id, code: await main(args, new AbortController().signal), out: out.text(), err: err.text() }
}

/** Keeps the bytes that are written to it. */
class Collector extends Writable {
  #pieces = /** @type {Buffer[]} */ ([])

  _write (piece, encoding, callback) {
    this.#pieces.push(Buffer.from(piece)) // A copy, because the writer reuses its memory.
    callback()
  }

  text () { return Buffer.concat(this.#pieces).toString('base64') }
}

function * piecesOf (bytes) {
  for (let at = 0; at < bytes.length; at += PIPE_LEN) yield bytes.subarray(at, at + PIPE_LEN)
}
