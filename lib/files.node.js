// Files, where there are any. The only file of lib that needs `node:fs`.

import { open } from 'node:fs/promises'

const PIECE_LEN = 1 << 20

/**
 * Opens a file for reading.
 *
 * @param {string | URL} path
 */
export async function openFile (path) {
  const handle = await open(path, 'r')
  const stat = await handle.stat()
  return {
    size: stat.size,
    /** Pipes and devices are not, and cannot be read at any place. */
    isRegular: stat.isFile(),

    /** @param {number} start @param {number} end  may be fewer bytes when the file has shrunk */
    async read (start, end) {
      const bytes = new Uint8Array(end - start)
      let got = 0
      while (got < bytes.length) {
        const { bytesRead } = await handle.read(bytes, got, bytes.length - got, start + got)
        if (bytesRead === 0) break
        got += bytesRead
      }
      return bytes.subarray(0, got)
    },

    /** Everything from here to the end, however long that is. */
    async * pieces () {
      while (true) {
        const { bytesRead, buffer } = await handle.read(new Uint8Array(PIECE_LEN), 0, PIECE_LEN, null)
        if (bytesRead === 0) return
        yield buffer.subarray(0, bytesRead)
      }
    },

    close: () => handle.close()
  }
}
