// Ways to pass bytes to code under test, and to collect and compare its results.
import { concat, same } from './bytes.js'
import { chunkCount, selected } from './twin/tree.js'

export const whole = bytes => [bytes]

export const oneByOne = bytes => pieces(bytes, () => 1)

/** Cuts bytes into pieces of 0 to 4095 bytes, short ones more often; the same ones for the same `seed`. */
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
 * Feeds a verifier to the end, or until it throws. A verifier first gives the leaves before a fault, and throws at the
 * next call. For a slice that was cut, `flush` gives the last leaves before `end` throws.
 *
 * @returns {{ leaves: Array<{ offset: number, bytes: Uint8Array }>, error?: any }} adjacent leaves are joined
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

/** Joins adjacent leaves, and leaves out empty ones: how leaves are divided does not matter. */
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

/** Says how leaves differ from the expected ones; undefined if they do not. Chai would compare byte by byte. */
export function differenceOf (leaves, expected) {
  const [places, wanted] = [leaves, expected]
    .map(list => list.map(({ offset, bytes }) => `${offset}+${bytes.length}`).join(', '))
  if (places !== wanted) return `[${places}] instead of [${wanted}]`
  const wrong = leaves.find(({ bytes }, i) => !same(bytes, expected[i].bytes))
  return wrong && `wrong bytes in the leaf at ${wrong.offset}`
}

/** Returns the expected leaves of a query: the selected chunks of `bytes`, adjacent ones joined. */
export function chosenRuns (bytes, boundaries) {
  const leaves = [...selected(bytes.length, boundaries)].sort((a, b) => a - b)
    .map(chunk => ({ offset: chunk * 1024, bytes: bytes.subarray(chunk * 1024, chunk * 1024 + 1024) }))
  return joined(leaves)
}

/** Returns true if a query proves the size, because it selects the last chunk. */
export const provesSize = (size, boundaries) => selected(size, boundaries).has(chunkCount(size) - 1)

/** Joins the bytes of leaves. */
export const bytesOf = leaves => concat(leaves.map(({ bytes }) => bytes))

/** Collects an async iterable of bytes. */
export async function collect (parts) {
  const out = []
  for await (const part of iterable(parts)) out.push(part)
  return concat(out)
}

/**
 * Makes `for await` work over streams, too: in WebKitGTK they are not async iterables.
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

/** Collects an async iterable in an array. */
export async function listed (items) {
  const out = []
  for await (const item of iterable(items)) out.push(item)
  return out
}

/** Returns the error of a function or promise; undefined when it succeeds. */
export async function errorOf (action) {
  try {
    await (typeof action === 'function' ? action() : action)
  } catch (error) {
    return error
  }
}

/** Returns an async iterable over pieces, which come one turn of the event loop apart. */
export async function * stream (pieces) {
  for (const piece of pieces) {
    await undefined
    yield piece
  }
}

/**
 * Returns the same as a ReadableStream, which gives each piece when it is asked for. (`ReadableStream.from` is not in
 * all browsers.)
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
 * Reads a body until it ends or breaks. It avoids `response.arrayBuffer()`, because browsers replace the error of a
 * stream by their own.
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
