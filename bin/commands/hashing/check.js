// baobox hash --check: compares files with printed hashes, as b3sum does. It refuses names that could mean several
// files, because it must never print OK for the wrong file.

import { HASH_LEN } from '../../../lib/core/constants.js'
import { Failure } from '../../terminal/errors.js'
import { formatCount, hex } from '../../terminal/format.js'
import { openInput } from '../../terminal/input.js'
import { paint } from '../../terminal/color.js'
import { printResult } from '../../terminal/output.js'

/** @import { Context } from '../../types.js' */
/** @import { Input } from '../../terminal/input.js' */

/** The maximum number of characters in a line: names are shorter than 64 KiB on every system. */
const MAX_LINE_LEN = 1 << 18

/**
 * @param {string[]} names  of check files, which have lines of hashes and names; none means stdin
 * @param {{ quiet?: boolean, json?: boolean }} values  of the options
 * @param {(input: Input) => Promise<Uint8Array>} hashOf
 * @param {Context} context
 */
export async function checkFiles (names, values, hashOf, { signal, attempt }) {
  let failures = 0
  for (const name of names.length === 0 ? ['-'] : names) {
    const { pieces } = await openInput(name, signal)
    for await (const line of linesOf(pieces, name)) {
      let isRight = false
      await attempt(async () => { isRight = await checkLine(line, values, hashOf, signal) })
      if (!isRight) failures++
    }
  }
  if (failures > 0) {
    throw new Failure(`WARNING: ${formatCount(failures, 'computed checksum')} did NOT match`)
  }
}

/**
 * @param {string} line @param {{ quiet?: boolean, json?: boolean }} values
 * @param {(input: Input) => Promise<Uint8Array>} hashOf @param {AbortSignal} signal
 * @returns {Promise<boolean>} true if the file has this hash
 * @throws {Failure} when the line is invalid
 */
async function checkLine (line, values, hashOf, signal) {
  const { shown, file, expected } = parseCheckLine(line)
  /** @param {boolean} isRight @param {string} result @param {string} [reason] */
  const tell = async (isRight, result, reason) => {
    const painted = paint(isRight ? 'green' : 'red', result, process.stdout)
    if (isRight && values.quiet) return
    await printResult(values, { name: file, isRight, reason }, `${shown}: ${painted}${reason ? ` (${reason})` : ''}`)
  }
  /** @type {Uint8Array} */
  let found
  try {
    found = await hashOf(await openInput(file, signal))
  } catch (error) {
    signal.throwIfAborted()
    await tell(false, 'FAILED', reasonOf(error))
    return false
  }
  const isRight = hex(found) === expected
  await tell(isRight, isRight ? 'OK' : 'FAILED')
  return isRight
}

/**
 * Parses a line: `HASH  FILE`, or `BLAKE3 (FILE) = HASH`. If the line begins with a backslash, FILE is escaped.
 *
 * @param {string} line  without its line break
 * @returns {{ shown: string, file: string, expected: string }} `shown`: the name as it is in the line
 * @throws {Failure}
 */
export function parseCheckLine (line) {
  if (line === '') throw new Failure('empty line in a check file')
  const isEscaped = line.startsWith('\\')
  const text = isEscaped ? line.slice(1) : line
  const [, left, right] = /^([^]*?) {2}([^]*)$/.exec(text) ?? []
  // A name may contain `) = `, so the last occurrence ends the name.
  const [, inParentheses, after] = /^BLAKE3 \(([^]*)\) = ([^]*)$/.exec(text) ?? []
  const expected = left ?? after
  const name = right ?? inParentheses
  if (expected === undefined) throw new Failure('a line of a check file has no hash and name')
  if (!/^[0-9a-f]*$/.test(expected) || expected.length !== 2 * HASH_LEN) {
    throw new Failure(`a line of a check file has no hash of ${2 * HASH_LEN} hexadecimal digits in lower case`)
  }
  const file = isEscaped ? unescapeName(name) : name
  checkName(file)
  return { shown: isEscaped ? `\\${name}` : name, file, expected }
}

/** @param {string} name */
function unescapeName (name) {
  if (!/^([^\\]|\\[nr\\])*$/.test(name)) throw new Failure('a name in a check file has an invalid escape')
  return name.replace(/\\(.)/g, (_, letter) => letter === 'n' ? '\n' : letter === 'r' ? '\r' : '\\')
}

/** @param {string} name @param {string} [platform] */
export function checkName (name, platform = process.platform) {
  if (name === '') throw new Failure('a name in a check file is empty')
  if (name.includes('\0')) throw new Failure('a name in a check file has a null character')
  // This character replaces everything in a name that is not Unicode, so several files may be printed with this name.
  if (name.includes('\ufffd')) throw new Failure('a name in a check file has a Unicode replacement character')
  if (platform === 'win32' && name.includes('\\')) throw new Failure('a name in a check file has a backslash')
}

/**
 * The lines of a check file, which must be UTF-8.
 *
 * @param {AsyncIterable<Uint8Array>} pieces @param {string} name
 * @returns {AsyncGenerator<string>} without line breaks
 */
async function * linesOf (pieces, name) {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  /** @param {Uint8Array} [piece] */
  const decode = piece => {
    try {
      return decoder.decode(piece, { stream: piece !== undefined })
    } catch (cause) {
      throw new Failure(`${name} is not UTF-8`, { cause })
    }
  }
  let rest = ''
  for await (const piece of pieces) {
    const lines = (rest + decode(piece)).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MAX_LINE_LEN) throw new Failure(`${name} has a line of more than ${MAX_LINE_LEN} characters`)
    for (const line of lines) yield line.replace(/\r+$/, '')
  }
  rest += decode()
  if (rest !== '') yield rest.replace(/\r+$/, '')
}

/** The reasons that Node.js words differently. @type {Record<string, string>} */
const REASONS = { EISDIR: 'Is a directory' }

/** The reason why a file could not be hashed; errors of the system are worded as in b3sum. @param {unknown} error */
function reasonOf (error) {
  const { message, code = '', errno } = /** @type {NodeJS.ErrnoException} */ (error)
  if (errno === undefined) return message
  const said = message.replace(/^\w+: ([^,]*).*$/s, '$1')
  const reason = REASONS[code] ?? `${said[0].toUpperCase()}${said.slice(1)}`
  return `${reason} (os error ${-errno})`
}
