// A pack: small blobs that were put together, one behind the other in a file. LevelDB would write each of them twice, to its log and to a table, and a file
// for each would cost more than its bytes. Their records say where they are; what stands in front of them says it once more, for who has lost records, and
// for who writes anew what is still wanted (packs.js).
//
//   count (8)    hash (32), size (8) of each    check (8)    the bytes of each

import { HASH_LEN } from '../lib/constants.js'
import { areEqual } from '../lib/bytes.js'
import { equals } from 'uint8arrays/equals'
import { hash } from '../lib/hasher.js'
import { CHECK_LEN, checkOf, encode, setU64, u64At } from './values.js'
import { MAX_PACKED_SIZE } from './keys.js'
import { allOf } from './activity.js'
import { readSoon } from './pace.js'

/** @import { BlobFile } from './disk/blob-file.js' */
/** @import { BlobFolder } from './disk/blob-folder.js' */
/** @import { BlobRecord } from './keys.js' */
/** @import { Databases } from './databases.js' */

/** Bytes of small blobs that are worth a file. */
export const PACK_FROM = 1 << 17
/** Blobs of a pack, at most. */
export const MAX_PACKED = 1024

const COUNT_LEN = 8
/** What stands in front for each blob. */
export const ENTRY_LEN = HASH_LEN + 8
/** Blobs that have no more bytes between them are read at once, with these. */
const MAX_GAP = 1 << 15
/** Bytes that are read at once, at most. */
const MAX_RUN_LEN = 1 << 20

/** @typedef {{ root: Uint8Array, offset: number, size: number }} Packed  a blob, and where it begins in its pack, in bytes */

/** @param {number} count  of blobs */
const headLen = count => COUNT_LEN + count * ENTRY_LEN + CHECK_LEN

/** The check is over the id, too: a pack that has the name of another is none. @param {number} id @param {Uint8Array} head  without the check */
const checkOfHead = (id, head) => checkOf(encode({ u64: id }), head)

/**
 * @param {Databases} databases  of a store with packs
 * @param {number} id  fresh
 * @param {{ root: Uint8Array, bytes: Uint8Array }[]} blobs  at most MAX_PACKED, one chunk group each; left alone meanwhile
 * @param {boolean} isSync  is it to outlast a power cut?
 * @returns {Promise<Packed[]>} where they are, in their order
 */
export async function writePack ({ packs }, id, blobs, isSync) {
  if (packs === undefined) throw new Error('there are no packs here')
  const head = new Uint8Array(headLen(blobs.length))
  let at = setU64(head, 0, blobs.length)
  let offset = head.length
  const packed = []
  for (const { root, bytes: { length: size } } of blobs) {
    head.set(root, at)
    at = setU64(head, at + HASH_LEN, size)
    packed.push({ root, offset, size })
    offset += size
  }
  head.set(checkOfHead(id, head.subarray(0, at)), at)
  try {
    const writer = await packs.writer(id)
    try {
      await writer.write([head, ...joined(blobs.map(({ bytes }) => bytes))], 0)
      if (isSync) await allOf([writer.sync(), packs.sync()])
    } finally {
      await writer.close()
    }
  } catch (error) {
    await packs.remove(id).catch(() => {}) // the disk may be full
    throw error
  }
  return packed
}

/** Pieces that lie side by side in memory become one: each costs time when it is written. @param {Uint8Array[]} pieces */
function joined (pieces) {
  const runs = /** @type {Uint8Array[]} */ ([])
  for (const piece of pieces) {
    const last = runs.at(-1)
    const isNext = last?.buffer === piece.buffer && last.byteOffset + last.length === piece.byteOffset
    if (isNext) runs[runs.length - 1] = new Uint8Array(last.buffer, last.byteOffset, last.length + piece.length)
    else runs.push(piece)
  }
  return runs
}

/** @typedef {{ isThere: boolean, isSound: boolean, blobs: Packed[] }} List  `isSound`: is the list as it was written? Else `blobs` is what may be in it */

/**
 * What a pack says that it holds.
 *
 * @param {Databases} databases @param {number} id @returns {Promise<List>}
 */
export async function listPack ({ packs }, id) {
  const nothing = { isThere: false, isSound: false, blobs: [] }
  return await opened(packs, id, async file => {
    const { size: len } = await (await file.handle).stat()
    return { isThere: true, ...listIn(await file.read(0, Math.min(len, headLen(MAX_PACKED))), id, len) }
  }) ?? nothing
}

/** @param {Uint8Array} start  of a pack @param {number} id @param {number} len  bytes of it @returns {{ isSound: boolean, blobs: Packed[] }} */
function listIn (start, id, len) {
  const claimed = start.length < COUNT_LEN ? 0 : u64At(start, 0)
  // A pack that was cut short, or is longer, can still say how many there are.
  const count = countBy(start, len) ?? (claimed <= MAX_PACKED && headLen(claimed) <= len ? claimed : 0)
  const head = start.subarray(0, headLen(count))
  const blobs = entriesOf(head, count)
  const isSound = count === claimed && blobs.length === count && equals(head.subarray(-CHECK_LEN), checkOfHead(id, head.subarray(0, -CHECK_LEN)))
  return { isSound: isSound && count > 0, blobs }
}

/** How many there must be for the file to have its length, if it can be so. @param {Uint8Array} start  of a pack @param {number} len  bytes of it */
function countBy (start, len) {
  let end = headLen(0)
  for (let count = 1; count <= MAX_PACKED && headLen(count) <= start.length; count++) {
    end += ENTRY_LEN + sizeAt(start, count - 1)
    if (end === len) return count
  }
}

/** @param {Uint8Array} head @param {number} i */
const sizeAt = (head, i) => u64At(head, COUNT_LEN + i * ENTRY_LEN + HASH_LEN)

/** Up to where no pack was ever written like that. @param {Uint8Array} head @param {number} count @returns {Packed[]} */
function entriesOf (head, count) {
  const blobs = []
  for (let i = 0, offset = headLen(count); i < count; i++) {
    const size = sizeAt(head, i)
    if (!(size > 0 && size <= MAX_PACKED_SIZE)) break
    const at = COUNT_LEN + i * ENTRY_LEN
    blobs.push({ root: head.slice(at, at + HASH_LEN), offset, size })
    offset += size
  }
  return blobs
}

/**
 * One packed blob, as it is stored.
 *
 * @param {Databases} databases @param {BlobRecord} record
 * @returns {Promise<Uint8Array | undefined>} undefined where the pack is gone, or ends before; what else fails is told
 */
export async function readBlob ({ packs }, { id, offset = 0, size }) {
  const bytes = await opened(packs, id, file => file.read(offset, offset + size))
  return bytes?.length === size ? bytes : undefined
}

/** Throws what a disk says that cannot be read just now: nothing is to be given up for that. @param {Databases} databases @param {Uint8Array} root @param {BlobRecord} record */
export async function isPackedRight (databases, root, record) {
  const bytes = await readBlob(databases, record)
  return bytes !== undefined && areEqual(hash(bytes), 0, root)
}

/** @template T @param {BlobFolder | undefined} packs @param {number} id @param {(file: BlobFile) => Promise<T>} use @returns {Promise<T | undefined>} undefined when there is no such pack */
async function opened (packs, id, use) {
  const file = packs?.reader(id)
  if (file === undefined) return undefined
  try {
    return await use(file)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return undefined
    throw error
  } finally {
    file.release()
  }
}

/**
 * The bytes of packed blobs, as they are stored. Those that are close to each other are read at once.
 *
 * @param {Databases} databases @param {BlobRecord[]} records  of packed blobs
 * @returns {Promise<(Uint8Array | undefined)[]>} in their order; undefined where they cannot be read: who reads each by itself is told why
 */
export async function readPacked ({ packs }, records) {
  const found = /** @type {(Uint8Array | undefined)[]} */ (records.map(() => undefined))
  if (packs === undefined) return found
  await Promise.allSettled(runsOf(records).map(async ({ id, start, end, members }) => {
    const bytes = await readSoon(packs, id, start, end)
    for (const { i, from, to } of members) {
      // Each in memory of its own: the same blob may have been asked for twice.
      if (to - start <= bytes.length) found[i] = members.length === 1 ? bytes : bytes.slice(from - start, to - start)
    }
  }))
  return found
}

/** @typedef {{ id: number, start: number, end: number, members: { i: number, from: number, to: number }[] }} Run  bytes of one pack, and the blobs among them */

/** @param {BlobRecord[]} records @returns {Run[]} */
function runsOf (records) {
  const blobs = records.map(({ id, offset = 0, size }, i) => ({ id, i, from: offset, to: offset + size }))
  const runs = /** @type {Run[]} */ ([])
  for (const { id, ...member } of blobs.sort((a, b) => a.id - b.id || a.from - b.from)) {
    const run = runs.at(-1)
    if (run?.id === id && member.from <= run.end + MAX_GAP && member.to <= run.start + MAX_RUN_LEN) {
      run.end = Math.max(run.end, member.to)
      run.members.push(member)
    } else runs.push({ id, start: member.from, end: member.to, members: [member] })
  }
  return runs
}
