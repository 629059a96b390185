// Files, where there are any. The only file of lib that needs `node:fs`.

import { open } from 'node:fs/promises'

/**
 * Opens a file for reading at any place.
 *
 * @param {string | URL} path
 */
export async function openFile (path) {
  const handle = await open(path, 'r')
  const { size } = await handle.stat()
  return {
    size,
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
    close: () => handle.close()
  }
}
