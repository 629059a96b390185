// Checks and inputs of the two suites about disks.
import { readdir } from 'node:fs/promises'
import { Level } from 'level'
import { hash } from '../../../lib/index.js'
import { VIEWS } from '../../support/constants.js'
import { stream } from '../../support/feeding.js'
import { splice } from '../../support/store/grown.js'
import { idsIn, recordsIn } from '../../support/store/inspect.js'

const PIECE_LEN = 300_000
const CHUNK_LEN = 1024

/** A source that gives bytes piece by piece. @param {Uint8Array} bytes */
export function inPieces (bytes) {
  const count = Math.ceil(bytes.length / PIECE_LEN)
  return stream(Array.from({ length: count }, (_, i) => bytes.subarray(i * PIECE_LEN, (i + 1) * PIECE_LEN)))
}

/**
 * Puts a blob by composing it from another one, which differs in the middle and is kept only for this time.
 *
 * @param {import('../../../store/index.js').BlobStore} store @param {Uint8Array} bytes
 * @param {object} [options]  of the splice
 */
export async function splicedOf (store, bytes, options) {
  const [start, end] = [0.4, 0.6].map(part => Math.floor(part * bytes.length))
  const other = bytes.slice()
  other.fill(7, start, end)
  const hold = store.tempTag()
  try {
    const { cid } = await store.put(other, { tag: hold })
    return await splice(store, cid, { start, end, source: inPieces(bytes.subarray(start, end)) }, options)
  } finally {
    hold.release()
  }
}

/**
 * Puts a blob, by appending if the store has the blob at its beginning.
 *
 * @param {import('../../../store/index.js').BlobStore} store @param {Uint8Array} bytes
 * @param {Uint8Array} [parent]  the blob at its beginning
 * @param {object} [options]
 */
export async function putOrAppend (store, bytes, parent, options) {
  if (parent !== undefined && await store.has(hash(parent))) {
    try {
      return await store.append(hash(parent), inPieces(bytes.subarray(parent.length)), options)
    } catch (error) {
      if (!['STORE_NOT_FOUND', 'STORE_MISSING'].includes(error.code)) throw error
    }
  }
  return store.put(inPieces(bytes), options)
}

/**
 * True if all these bytes are present.
 *
 * @param {import('../../../lib/index.js').ChunkRanges} present @param {number} start @param {number} end
 */
export const covers = (present, start, end) =>
  present.contains(Math.floor(start / CHUNK_LEN), Math.ceil(end / CHUNK_LEN))

/**
 * Data that no record names, and missing files that records name.
 *
 * @param {string} location  of a closed store @returns {Promise<string[]>}
 */
export async function orphansIn (location) {
  const [index, data] = ['index', 'data'].map(name => new Level(`${location}/${name}`, VIEWS))
  await Promise.all([index.open(), data.open()])
  try {
    const records = await recordsIn(index)
    const named = new Set(records.flatMap(({ id, base }) => [id, base]))
    const inFiles = new Set(records.flatMap(({ home, id, base }) => home === 'file' ? [id] : base ?? []))
    const files = (await readdir(`${location}/blobs`)).map(Number)
    return [
      ...(await idsIn(data)).filter(id => !named.has(id)).map(id => `data under ${id}`),
      ...files.filter(id => !inFiles.has(id)).map(id => `the file ${id}`),
      ...[...inFiles].filter(id => !files.includes(id)).map(id => `no file ${id}`)
    ]
  } finally {
    await Promise.all([index.close(), data.close()])
  }
}
