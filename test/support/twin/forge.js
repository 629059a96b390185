// Forges parts of huge blobs: only the wanted chunks have bytes, and every other subtree is a made-up chaining value. A
// verifier cannot tell the difference. So tests reach chunk numbers that no real test data reaches.
import { concat } from '../bytes.js'
import { noise } from '../inputs.js'
import { HASH, cvBytes, leftLen, parent, rootBytes, subtree } from './blake3.js'

/**
 * @param {{ size: number, first: number, count: number, groupLog: number, mode?: import('./blake3.js').Mode }} blob
 *   the wanted chunks are `first` to `first + count`
 * @returns {{ root: Uint8Array, response: Uint8Array, leaves: Array<{ offset: number, bytes: Uint8Array }> }}
 */
export function forge ({ size, first, count, groupLog, mode = HASH }) {
  const leaves = []

  const visit = (start, end) => {
    const from = start / 1024
    const to = Math.ceil(end / 1024)
    if (to <= first || from >= first + count) return { cv: noise(32, from + 1), parts: [] }
    const isWhole = from >= first && to <= first + count
    if (end - start <= 1024 || (isWhole && end - start <= 1024 * 2 ** groupLog)) {
      const bytes = noise(end - start, from + 1)
      leaves.push({ offset: start, bytes })
      return finished(subtree(bytes, from, mode), [bytes])
    }
    const split = start + leftLen(end - start)
    const left = visit(start, split)
    const right = visit(split, end)
    return finished(parent(left.cv, right.cv, mode), [left.cv, right.cv, ...left.parts, ...right.parts])
  }

  const { last, parts } = visit(0, size)
  return { root: rootBytes(last), response: concat(parts), leaves }
}

const finished = (last, parts) => ({ last, cv: cvBytes(last), parts })
