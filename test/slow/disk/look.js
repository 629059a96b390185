// How the two suites of disks look at a store, and what they feed it with.
import { readdir } from 'node:fs/promises'
import { Level } from 'level'
import { VIEWS } from '../../support/constants.js'
import { stream } from '../../support/feeding.js'
import { idsIn, recordsIn } from '../../support/store/inspect.js'

const PIECE_LEN = 300_000
const CHUNK_LEN = 1024

/** A source that gives bytes piece by piece. @param {Uint8Array} bytes */
export function inPieces (bytes) {
  const count = Math.ceil(bytes.length / PIECE_LEN)
  return stream(Array.from({ length: count }, (_, i) => bytes.subarray(i * PIECE_LEN, (i + 1) * PIECE_LEN)))
}

/**
 * Are these bytes all here?
 *
 * @param {import('../../../lib/index.js').ChunkRanges} present @param {number} start @param {number} end
 */
export const covers = (present, start, end) =>
  present.contains(Math.floor(start / CHUNK_LEN), Math.ceil(end / CHUNK_LEN))

/**
 * Data that no record names, and files that records name and that are not there.
 *
 * @param {string} location  of a closed store @returns {Promise<string[]>}
 */
export async function orphansIn (location) {
  const [index, data] = ['index', 'data'].map(name => new Level(`${location}/${name}`, VIEWS))
  await Promise.all([index.open(), data.open()])
  try {
    const records = await recordsIn(index)
    const named = new Set(records.map(({ id }) => id))
    const inFiles = new Set(records.filter(({ home }) => home === 'file').map(({ id }) => id))
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
