// Counts the CBOR items of a manifest before it is decoded, so that a manifest with too many is refused. Each byte can
// be an item, and the decoder makes a value of a hundred bytes for it. To count them costs one pass over the bytes.
// Source: RFC 8949, 3 (the heads of CBOR's items).

const BYTES = 2
const TEXT = 3
const ARRAY = 4
const MAP = 5
const TAG = 6

/** Does a byte begin a map? @param {number | undefined} byte */
export const isMapHead = byte => byte !== undefined && byte >> 5 === MAP

/**
 * Walks over the heads of all items. Whether they are in the one form that DRISL has for them, the decoder must find
 * out.
 *
 * @param {Uint8Array} bytes
 * @param {number} maxItems  counting keys, tags and what is in them
 * @returns {string | undefined} what is wrong; undefined for one map of a definite length that fills the bytes
 */
export function faultOfItems (bytes, maxItems) {
  if (!isMapHead(bytes[0])) return 'it is not a map'
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let items = 0
  let at = 0
  for (let left = 1; left > 0; left--) {
    if (++items > maxItems) return `it has more than ${maxItems} items`
    if (at >= bytes.length) return 'it ends too early'
    const kind = bytes[at] >> 5
    const info = bytes[at++] & 31
    if (info > 27) return 'it has an item of no certain length'
    const len = info < 24 ? 0 : 1 << (info - 24) // of the argument behind the head
    if (at + len > bytes.length) return 'it ends too early'
    const value = len === 0 ? info : argumentAt(view, at, len)
    at += len
    if (kind === BYTES || kind === TEXT) at += value
    else if (kind === ARRAY) left += value
    else if (kind === MAP) left += 2 * value
    else if (kind === TAG) left++
    if (left - 1 > bytes.length - at) return 'it ends too early' // each item takes a byte or more
  }
  return at === bytes.length ? undefined : 'bytes follow the map'
}

/** @param {DataView} view @param {number} at @param {number} len  1, 2, 4 or 8 bytes @returns {number} */
function argumentAt (view, at, len) {
  if (len === 1) return view.getUint8(at)
  if (len === 2) return view.getUint16(at)
  return len === 4 ? view.getUint32(at) : Number(view.getBigUint64(at))
}
