// Combined encodings: the length, then pairs and bytes of a blob interleaved in pre-order. Source: Bao spec, "Combined Encoding Format".

import { PAIR_LEN } from '../lib/constants.js'
import { ENTER, LEAF, Walk } from '../lib/walk.js'
import { createOutboardSync } from './outboard.js'
import { encodeSlice } from './slice.js'
import { HEADER_LEN, u64ToBytes } from '../lib/bytes.js'

/** @import { Outboard } from './outboard.js' */
/** @import { ProgressOptions, RandomAccess, Source } from '../lib/types.js' */

/**
 * The whole blob with its tree: bao's encoding at group log 0, iroh's at 4.
 *
 * @param {Uint8Array} bytes
 * @param {{ groupLog?: number, key?: Uint8Array }} [options]
 * @returns {{ root: Uint8Array, bytes: Uint8Array<ArrayBuffer> }} fresh
 */
export function encode (bytes, { groupLog = 0, key } = {}) {
  const outboard = createOutboardSync(bytes, { groupLog, key, order: 'post' })
  const out = new Uint8Array(HEADER_LEN + outboard.bytes.length + bytes.length)
  out.set(u64ToBytes(bytes.length))
  const walk = new Walk(bytes.length, groupLog)
  for (let at = HEADER_LEN; walk.next();) {
    if (walk.kind === ENTER) {
      outboard.copyPair(walk, out, at)
      at += PAIR_LEN
    } else if (walk.kind === LEAF) {
      out.set(bytes.subarray(walk.start, walk.start + walk.len), at)
      at += walk.len
    }
  }
  return { root: outboard.root, bytes: out }
}

/**
 * The same, piece by piece, from a source of any size and its outboard.
 *
 * @param {Source & (Uint8Array | Blob | RandomAccess | string | URL)} source
 * @param {Outboard} outboard  its group log is that of the encoding
 * @param {ProgressOptions & { validate?: boolean, key?: Uint8Array }} [options]  as for `encodeSlice`
 */
export function encodeStream (source, outboard, options) {
  return encodeSlice(source, outboard, undefined, options)
}
