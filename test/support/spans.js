// The (start, len) pairs of bao's vectors are 64-bit integers; spans here are numbers.
import { integer } from './vectors.js'

const LIMIT = BigInt(Number.MAX_SAFE_INTEGER)

/**
 * Converts bao's slice of `len` bytes at `start`. Both may reach 2^64 - 1. The greatest safe integer replaces greater
 * numbers: it is beyond the end of every blob here, too.
 */
export function span (start, len) {
  const from = BigInt(integer(start))
  const to = from + BigInt(integer(len))
  return { start: clamped(from, LIMIT - 1n), end: clamped(to, LIMIT) }
}

const clamped = (value, limit) => Number(value < limit ? value : limit)
