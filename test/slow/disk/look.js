// Checks and inputs of the two suites about disks.
import { readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Level } from 'level'
import { hash } from '../../../lib/index.js'
import { same } from '../../support/bytes.js'
import { GROUP, VIEWS } from '../../support/constants.js'
import { stream } from '../../support/feeding.js'
import { splice } from '../../support/store/grown.js'
import { databasesOf, deletionsIn, idsIn, idsWithout, readState, recordsIn } from '../../support/store/inspect.js'

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

/**
 * Lists the ids that have data or a file, and that no record names.
 *
 * @param {import('../../../store/index.js').BlobStore} store @returns {Promise<number[]>}
 */
export async function unnamedIdsIn (store) {
  const { index, data, files } = databasesOf(store)
  return idsWithout([...new Set([...await idsIn(data), ...await files.ids()])], await recordsIn(index))
}

/**
 * Finds the files without a record that an opening rightly leaves: the blob is tagged and present in part, and each of
 * the file and the record has groups that the other lacks.
 *
 * @param {import('../../../store/index.js').BlobStore} store
 * @param {{ bytes: Uint8Array, present: import('../../../lib/index.js').ChunkRanges }[]} tagged  the tagged blobs that
 *   are present
 * @returns {Promise<number[]>} their ids
 */
export async function keptFilesIn (store, tagged) {
  const { files } = databasesOf(store)
  const withFile = new Set(await files.ids())
  const kept = []
  for (const id of await unnamedIdsIn(store)) {
    if (!withFile.has(id)) continue
    const file = await readFile(files.pathOf(id))
    if (tagged.some(blob => areBothNeeded(file, blob))) kept.push(id)
  }
  return kept
}

/**
 * True if a file has groups of a blob that are not present, and lacks some that are.
 *
 * @param {Uint8Array} file
 * @param {{ bytes: Uint8Array, present: import('../../../lib/index.js').ChunkRanges }} blob
 */
function areBothNeeded (file, { bytes, present }) {
  let [adds, lacks] = [false, false]
  for (let start = 0; start < bytes.length; start += GROUP) {
    const end = Math.min(start + GROUP, bytes.length)
    const isInFile = same(file.subarray(start, end), bytes.subarray(start, end))
    const isPresent = covers(present, start, end)
    adds ||= isInFile && !isPresent
    lacks ||= isPresent && !isInFile
  }
  return adds && lacks
}

/**
 * Tells what is in the folder of a store that nobody has opened since the power cut, for messages. It opens the
 * databases, which changes them.
 *
 * @param {string} location
 */
export async function contentsOf (location) {
  const files = []
  for (const name of await readdir(location, { recursive: true })) {
    const found = await stat(join(location, name))
    if (found.isFile()) files.push(`${name} ${found.size}`)
  }
  const [index, data] = ['index', 'data'].map(name => new Level(`${location}/${name}`, VIEWS))
  try {
    await Promise.all([index.open(), data.open()])
    return {
      files,
      state: await readState(index),
      notes: await deletionsIn(index),
      records: await recordsIn(index),
      data: await idsIn(data)
    }
  } catch (error) {
    return { files, error: `${error.code} ${error.cause?.message ?? error.message}` }
  } finally {
    await Promise.all([index.close(), data.close()])
  }
}
