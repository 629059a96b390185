// Outboards that are made once for the same bytes, which nobody may write into afterwards.
import { createOutboardSync } from '../../encoder/index.js'

const made = new WeakMap()

/** @param {Uint8Array} bytes @param {number} [groupLog] */
export function outboardOf (bytes, groupLog = 4) {
  if (!made.has(bytes)) made.set(bytes, [])
  const outboards = made.get(bytes)
  outboards[groupLog] ??= createOutboardSync(bytes, { groupLog })
  return outboards[groupLog]
}
