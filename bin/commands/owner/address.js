// Reads and writes the file in the folder of a store that says where the store's owner takes calls. The file may be old
// or forged, so it is only a hint, and is used only if the process that answers knows the token in it.

import { constants } from 'node:fs'
import { open, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** @typedef {{ port: number, token: string, pid: number }} Address  `port` of 127.0.0.1; `token`: 64 hex digits */

const NAME = 'serve.json'
const MAX_LEN = 1 << 10
/** Flags: do not follow a link in place of the file, and do not wait for a pipe. Windows has neither flag. */
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/**
 * Writes the address. The caller has the store open, so nobody else writes the file.
 *
 * @param {string} location @param {Address} address
 */
export async function leaveAddress (location, address) {
  const fresh = join(location, `${NAME}.new`)
  await rm(fresh, { force: true })
  await writeFile(fresh, `${JSON.stringify(address)}\n`, { mode: 0o600, flag: 'wx' })
  await rename(fresh, join(location, NAME))
}

/**
 * Removes the address. The caller has the store open, so the address is its own, or that of a process that has ended.
 */
export const removeAddress = (/** @type {string} */ location) => rm(join(location, NAME), { force: true })

/** @param {string} location @returns {Promise<Address | undefined>} undefined if there is no valid address */
export async function readAddress (location) {
  try {
    const file = await open(join(location, NAME), FLAGS)
    try {
      if (!(await file.stat()).isFile()) return undefined
      const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_LEN), 0, MAX_LEN, 0)
      return parseAddress(buffer.toString('utf8', 0, bytesRead))
    } finally {
      await file.close()
    }
  } catch {
    return undefined
  }
}

/** @param {string} text @returns {Address | undefined} */
function parseAddress (text) {
  const { port, token, pid } = JSON.parse(text) ?? {}
  const isIn = (/** @type {unknown} */ number, /** @type {number} */ most) =>
    Number.isInteger(number) && Number(number) > 0 && Number(number) <= most
  const isToken = typeof token === 'string' && /^[0-9a-f]{64}$/.test(token)
  return isIn(port, 65_535) && isIn(pid, 2 ** 31) && isToken ? { port, token, pid } : undefined
}
