// Ways to hand bytes over, and to look at what came out.
import { concat, same } from './bytes.js'
import { chunkCount, selected } from './twin/tree.js'

export const whole = bytes => [bytes]

export const oneByOne = bytes => pieces(bytes, () => 1)

/** Pieces of 0 to 4095 bytes, short ones more often; the same ones for the same `seed`. */
export function ragged (bytes, seed) {
  let s = seed >>> 0 || 1
  return pieces(bytes, () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0
    return (s >>> 8) % (1 << (s >>> 28) % 13)
  })
}

function pieces (bytes, nextLen) {
  const out = []
  for (let at = 0; at < bytes.length;) {
    const len = nextLen()
    out.push(bytes.subarray(at, at + len))
    at += len
  }
  return out
}

/**
 * Feeds a verifier to the end, or until it throws. What stood before a fault is given first and the fault thrown at the
 * next call; what came of a slice that was cut is given by a flush, before the end is told.
 *
 * @returns {{ leaves: Array<{ offset: number, bytes: Uint8Array }>, error?: any }} leaves with their neighbours joined
 */
export function feed (verifier, pieces) {
  const leaves = []
  try {
    for (const piece of pieces) leaves.push(...verifier.write(piece))
    leaves.push(...verifier.flush())
    verifier.end()
  } catch (error) {
    return { leaves: joined(leaves), error }
  }
  return { leaves: joined(leaves) }
}

/** How leaves are cut is the sender's and verifier's business: neighbours are joined, empty ones left out. */
export function joined (leaves) {
  const runs = []
  for (const { offset, bytes } of leaves) {
    const last = runs.at(-1)
    if (last && last.offset + last.len === offset) {
      last.parts.push(bytes)
      last.len += bytes.length
    } else if (bytes.length > 0) {
      runs.push({ offset, len: bytes.length, parts: [bytes] })
    }
  }
  return runs.map(({ offset, parts }) => ({ offset, bytes: concat(parts) }))
}

/** How leaves differ from what is expected; undefined when they do not. Chai would look at them byte by byte. */
export function differenceOf (leaves, expected) {
  const [places, wanted] = [leaves, expected]
    .map(list => list.map(({ offset, bytes }) => `${offset}+${bytes.length}`).join(', '))
  if (places !== wanted) return `[${places}] instead of [${wanted}]`
  const wrong = leaves.find(({ bytes }, i) => !same(bytes, expected[i].bytes))
  return wrong && `wrong bytes in the leaf at ${wrong.offset}`
}

/** What must come out for a query: the chosen chunks of `bytes`, neighbours joined. */
export function chosenRuns (bytes, boundaries) {
  const leaves = [...selected(bytes.length, boundaries)].sort((a, b) => a - b)
    .map(chunk => ({ offset: chunk * 1024, bytes: bytes.subarray(chunk * 1024, chunk * 1024 + 1024) }))
  return joined(leaves)
}

/** Whether a query proves the size: only the last chunk does. */
export const provesSize = (size, boundaries) => selected(size, boundaries).has(chunkCount(size) - 1)

/** The bytes of leaves, one after the other. */
export const bytesOf = leaves => concat(leaves.map(({ bytes }) => bytes))

/** What an async iterable gives, as bytes. */
export async function collect (parts) {
  const out = []
  for await (const part of iterable(parts)) out.push(part)
  return concat(out)
}

/**
 * Makes `for await` possible also over streams: in WebKitGTK they are no async iterables.
 *
 * @param {AsyncIterable<any> | Iterable<any> | ReadableStream} parts
 */
export const iterable = parts =>
  Symbol.asyncIterator in parts || Symbol.iterator in parts ? parts : read(parts.getReader())

async function * read (reader) {
  try {
    for (let read; !(read = await reader.read()).done;) yield read.value
  } finally {
    await reader.cancel()
  }
}

/** What an async iterable gives, as an array. */
export async function listed (items) {
  const out = []
  for await (const item of iterable(items)) out.push(item)
  return out
}

/** What a function or promise throws, or undefined. */
export async function errorOf (action) {
  try {
    await (typeof action === 'function' ? action() : action)
  } catch (error) {
    return error
  }
}

/** An async iterable over pieces, which come one turn of the event loop apart. */
export async function * stream (pieces) {
  for (const piece of pieces) {
    await undefined
    yield piece
  }
}

/**
 * The same as a ReadableStream, piece by piece as they are asked for. (`ReadableStream.from` is not in all
 * browsers.)
 */
export function readable (pieces) {
  const iterator = pieces[Symbol.iterator]()
  return new ReadableStream({
    pull (controller) {
      const { done, value } = iterator.next()
      if (done) controller.close()
      else controller.enqueue(value)
    }
  })
}

/**
 * Reads a body until it ends or breaks. Not by `response.arrayBuffer()`: browsers put errors of their own in the place
 * of those of a stream.
 *
 * @param {Response} response
 * @returns {Promise<{ bytes: Uint8Array, error?: any }>}
 */
export async function readUntilBroken (response) {
  const parts = []
  try {
    for (const reader = response.body.getReader(); ;) {
      const { done, value } = await reader.read()
      if (done) return { bytes: concat(parts) }
      parts.push(value)
    }
  } catch (error) {
    return { bytes: concat(parts), error }
  }
}
