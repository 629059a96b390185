// Formats sizes, counts, durations and file names for people.

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** A size with three to six digits: `2.86 MiB`. @param {number} bytes */
export function formatSize (bytes) {
  let unit = 0
  let amount = bytes
  for (; amount >= 1023.995 && unit < UNITS.length - 1; unit++) amount /= 1024
  return `${unit === 0 ? amount : amount.toFixed(2)} ${bytes === 1 ? 'byte' : UNITS[unit]}`
}

/**
 * A size as the user wants it: rounded, or exact with --bytes.
 *
 * @param {{ bytes?: boolean }} values  of the options
 * @param {number} bytes
 */
export const sizeText = (values, bytes) => values.bytes ? `${bytes}` : formatSize(bytes)

/** The widths of the longest size, and of `already there`. */
export const SIZE_WIDTH = 11
const NEWS_WIDTH = 13

/**
 * The line for a blob that was put into a store, without the blob's name at the end.
 *
 * @param {{ bytes?: boolean }} values  of the options
 * @param {{ cid: unknown, size: number, isNew: boolean }} blob
 */
export const arrivalText = (values, { cid, size, isNew }) =>
  `${cid}  ${sizeText(values, size).padStart(SIZE_WIDTH)}  ${(isNew ? 'new' : 'already there').padEnd(NEWS_WIDTH)}`

/** All digits of a number: `1,048,576`. @param {number} count */
export const formatExact = count => count.toLocaleString('en-US')

/** A count and its noun: `1 blob`, `2 blobs`. @param {number} count @param {string} one @param {string} [many] */
export const formatCount = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`

/** @param {number} bytes @param {number} ms */
export const formatRate = (bytes, ms) => `${formatSize(Math.round(bytes / Math.max(ms, 0.001) * 1000))}/s`

/** @param {number} ms */
export const formatDuration = ms => ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(2)} s`

/** @param {Uint8Array} bytes */
export const hex = bytes => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')

/**
 * A file name as lines of output show it. A line break in a name could forge a second line. So breaks and
 * backslashes are escaped, and a line with an escaped name begins with a backslash, as in b3sum and the coreutils. On
 * Windows, backslashes are separators and become slashes.
 *
 * @param {string} name
 * @param {string} [platform]
 * @returns {{ name: string, mark: '' | '\\' }} `mark`: the beginning of the line
 */
export function escapeName (name, platform = process.platform) {
  const portable = platform === 'win32' ? name.replaceAll('\\', '/') : name
  const escaped = portable.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r')
  return { name: escaped, mark: escaped === portable ? '' : '\\' }
}

/** Characters that would control a terminal, break a line, or reverse the direction of text. */
const CONTROLS = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** A text that others may have chosen a part of, with its control characters escaped. @param {string} text */
export const visibleText = text => text.replace(CONTROLS, character => {
  const code = character.charCodeAt(0).toString(16)
  return code.length < 3 ? `\\x${code.padStart(2, '0')}` : `\\u${code.padStart(4, '0')}`
})

/**
 * A name that somebody else has chosen, as lines of output show it: with backslashes and control characters escaped.
 *
 * @param {string} name
 */
export const entryText = name => visibleText(name.replaceAll('\\', '\\\\'))

/** The name of a tag, as a string of JSON, with further control characters escaped. @param {string} name */
export const tagText = name => visibleText(JSON.stringify(name))

/** A line that ends with a file name. @param {string} front  text before the name @param {string} given */
export function fileLine (front, given) {
  const { name, mark } = escapeName(given)
  return `${mark}${front}  ${name}\n`
}
