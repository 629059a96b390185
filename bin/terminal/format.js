// Formats sizes, counts, durations and file names for people.

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** A size with three to six digits: `2.86 MiB`. @param {number} bytes */
export function formatSize (bytes) {
  let unit = 0
  let amount = bytes
  for (; amount >= 1023.995 && unit < UNITS.length - 1; unit++) amount /= 1024
  return `${unit === 0 ? amount : amount.toFixed(2)} ${bytes === 1 ? 'byte' : UNITS[unit]}`
}

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
 * A line that ends with a file name. A line break in the name could forge a second line. So a line with such a name
 * starts with a backslash, and breaks and backslashes in the name are escaped, as b3sum and the coreutils do.
 *
 * @param {string} front @param {string} name
 */
export function fileLine (front, name) {
  const escaped = name.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r')
  return escaped === name ? `${front}  ${name}\n` : `\\${front}  ${escaped}\n`
}
