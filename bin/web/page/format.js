// How the page writes numbers.

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

/** @param {number} bytes  as in `1.5 MiB` */
export function formatSize (bytes) {
  let unit = 0
  while (bytes >= 1024 && unit < UNITS.length - 1) [bytes, unit] = [bytes / 1024, unit + 1]
  const digits = unit === 0 || bytes >= 100 || Number.isInteger(bytes) ? 0 : 1
  return `${bytes.toFixed(digits)} ${unit === 0 && bytes === 1 ? 'byte' : UNITS[unit]}`
}

/** @param {number} value  as in `163 840`, with narrow spaces that do not break */
export const formatCount = value => String(value).replace(/\B(?=(\d{3})+$)/g, '\u202f')

/** @param {number} seconds  as in `1:05` */
export const formatTime = seconds =>
  `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`

/** @param {number} bytes @param {number} ms  as in `1.4 GB/s` */
export function formatRate (bytes, ms) {
  const rate = bytes / Math.max(ms, 0.1) * 1000
  return rate >= 1e9 ? `${(rate / 1e9).toFixed(1)} GB/s` : `${(rate / 1e6).toFixed(0)} MB/s`
}

/** @param {Uint8Array} bytes */
export const hex = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')

/** The beginning and the end of a CID. @param {unknown} cid */
export const shortCid = cid => `${cid}`.replace(/^(.{10}).*(.{4})$/, '$1…$2')

/** @param {number} count @param {string} one @param {string} [many] */
export const plural = (count, one, many = `${one}s`) => `${formatCount(count)} ${count === 1 ? one : many}`
