// Numbers and names as people read them.

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** A length, to three or four digits. @param {number} bytes */
export function sized (bytes) {
  let unit = 0
  let amount = bytes
  for (; amount >= 1023.995 && unit < UNITS.length - 1; unit++) amount /= 1024
  return `${unit === 0 ? amount : amount.toFixed(2)} ${bytes === 1 ? 'byte' : UNITS[unit]}`
}

/** A length or count, exactly. @param {number} count */
export const exact = count => count.toLocaleString('en-US')

/** How many there are of something. @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`

/** @param {number} bytes @param {number} ms */
export const rate = (bytes, ms) => `${sized(Math.round(bytes / Math.max(ms, 0.001) * 1000))}/s`

/** @param {number} ms */
export const lasting = ms => ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(2)} s`

/** @param {Uint8Array} bytes */
export const hex = bytes => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')

/**
 * A line about a file that may have any name. A line break in the name would make two lines of it, of which the second could say
 * anything: such lines begin with a backslash, and have breaks and backslashes escaped, as b3sum and the coreutils do.
 *
 * @param {string} front @param {string} name
 */
export function fileLine (front, name) {
  const escaped = name.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r')
  return escaped === name ? `${front}  ${name}\n` : `\\${front}  ${escaped}\n`
}
