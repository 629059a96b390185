// A proxy in front of a server on this machine that limits each connection, as stores in a network do.

import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/**
 * @param {URL} server @param {number} rate  bytes a second that the server may send on a connection
 * @returns {Promise<{ url: string, close: () => void }>}
 */
export async function limitedProxy (server, rate) {
  const sockets = new Set()
  const proxy = createServer(client => {
    const upstream = connect(Number(server.port), server.hostname)
    for (const [socket, other] of [[client, upstream], [upstream, client]]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    client.pipe(upstream)
    let due = 0
    upstream.on('data', async piece => {
      due = Math.max(due, performance.now()) + piece.length / rate * 1000
      upstream.pause()
      await new Promise(resolve => setTimeout(resolve, due - performance.now()))
      client.write(piece)
      upstream.resume()
    })
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const close = () => {
    proxy.close()
    for (const socket of sockets) socket.destroy()
  }
  return { url: `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (proxy.address()).port}`, close }
}
