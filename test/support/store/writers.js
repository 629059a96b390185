// Replaces calls to blob files while a store writes them.
import { copyFile, stat } from 'node:fs/promises'
import { BlobFolder } from '../../../store/storage/disk/blob-folder.js'

/**
 * Replaces calls that stores make to their blob files.
 *
 * @param {object} calls  functions that replace the calls; `go` makes the real call
 * @param {(go: () => Promise<void>, pieces: Uint8Array[], position: number) => Promise<void>} [calls.write]
 * @param {(go: () => Promise<void>) => Promise<void>} [calls.sync]
 * @param {(go: () => Promise<void>) => Promise<void>} [calls.syncFolder]
 * @returns {() => void} ends it
 */
export function meddle ({ write = go => go(), sync = go => go(), syncFolder = go => go() }) {
  const originals = { writer: BlobFolder.prototype.writer, sync: BlobFolder.prototype.sync }
  BlobFolder.prototype.writer = async function (id) {
    const file = await originals.writer.call(this, id)
    const theirs = { write: file.write, sync: file.sync }
    file.write = (pieces, position) => write(() => theirs.write.call(file, pieces, position), pieces, position)
    file.sync = () => sync(() => theirs.sync.call(file))
    return file
  }
  BlobFolder.prototype.sync = function () { return syncFolder(() => originals.sync.call(this)) }
  return () => { Object.assign(BlobFolder.prototype, originals) }
}

/**
 * Makes stores believe that the file system can clone files. The clones are copies.
 *
 * @returns {{ count: number, end: () => void }} `count`: clones so far; `end` ends it
 */
export function cloneByCopy () {
  const { clone } = BlobFolder.prototype
  const clones = { count: 0, sources: [], end () { BlobFolder.prototype.clone = clone } }
  BlobFolder.prototype.clone = async function (source, id, { from = 0 } = {}) {
    if ((await stat(source)).size < from) return undefined
    const theirs = await this.writer(id, { isNew: true })
    await theirs.close()
    await copyFile(source, this.pathOf(id))
    clones.count++
    clones.sources.push(source)
    return this.writer(id)
  }
  return clones
}

/**
 * Calls a function in place of each clone of a file, as if the file system could not clone. It runs just before the
 * store opens the file to copy it.
 *
 * @param {(path: string) => void} step
 */
export function insteadOfClones (step) {
  const { clone } = BlobFolder.prototype
  BlobFolder.prototype.clone = async path => step(path)
  return { end () { BlobFolder.prototype.clone = clone } }
}
