// Files of blobs that somebody meddles with while they are written.
import { BlobFolder } from '../../../store/storage/disk/blob-folder.js'

/**
 * @param {{ write?: (go: () => Promise<void>, pieces: Uint8Array[], position: number) => Promise<void>, sync?: (go: () => Promise<void>) => Promise<void> }} calls
 *   what is done in place of each; `go` does what would be done
 * @returns {() => void} ends it
 */
export function meddle ({ write = go => go(), sync = go => go() }) {
  const { writer } = BlobFolder.prototype
  BlobFolder.prototype.writer = async function (id) {
    const file = await writer.call(this, id)
    const theirs = { write: file.write, sync: file.sync }
    file.write = (pieces, position) => write(() => theirs.write.call(file, pieces, position), pieces, position)
    file.sync = () => sync(() => theirs.sync.call(file))
    return file
  }
  return () => { BlobFolder.prototype.writer = writer }
}
