// Lets a server listen on a port or at a Unix socket.

import { lstat, rm } from 'node:fs/promises'
import { connect } from 'node:net'

/** @import { AddressInfo, ListenOptions, Server } from 'node:net' */

/**
 * @param {Server} server @param {number} port @param {string} host
 * @returns {Promise<string>} its URL
 */
export async function listenOn (server, port, host) {
  await listen(server, { port, host })
  const { port: given } = /** @type {AddressInfo} */ (server.address())
  return `http://${host.includes(':') ? `[${host}]` : host}:${given}`
}

/**
 * Listens at a Unix socket. Replaces a socket that a killed process has left, but not one at which a process
 * still listens.
 *
 * @param {Server} server @param {string} path
 * @returns {Promise<string>} its URL
 */
export async function listenAt (server, path) {
  try {
    await listen(server, { path })
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EADDRINUSE' || !await isAbandoned(path)) throw error
    await rm(path)
    await listen(server, { path })
  }
  return `http+unix://${encodeURIComponent(path)}`
}

/** @param {Server} server @param {ListenOptions} where @returns {Promise<void>} */
const listen = (server, where) => new Promise((resolve, reject) => {
  server.once('error', reject)
  server.listen(where, () => {
    server.off('error', reject)
    resolve()
  })
})

/** True if a path is that of a socket at which no process listens. @param {string} path */
async function isAbandoned (path) {
  if (!(await lstat(path)).isSocket()) return false
  return new Promise(resolve => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(false)
    })
    socket.once('error', error => resolve(/** @type {NodeJS.ErrnoException} */ (error).code === 'ECONNREFUSED'))
  })
}
