// baobox decode and decode-slice

import { parseRoot } from '../../../lib/hash/cid.js'
import { VerifiedReader, verifyStream } from '../../../verifier/index.js'
import { parseSpan, rangeOf } from '../../line/values.js'
import { hintAtOptions } from '../../terminal/errors.js'
import { openInput } from '../../terminal/input.js'
import { deliver } from '../../terminal/output.js'
import { cidOf } from '../store/open.js'
import { withBlobAndOutboard } from './blobs.js'
import { BAO_LOG, groupLogOf } from './endings.js'

/** @import { ByteRange } from '../../../lib/index.js' */
/** @import { Leaf } from '../../../verifier/slice/leaves.js' */
/** @import { Run } from '../../types.js' */

/** @type {Run<typeof import('../../table/encodings.js').decode>} */
export async function decode ({ values, operands: [hash, name = '-', output] }, context) {
  const { outboard: file, 'group-log': groupLog = BAO_LOG, store: dir, start, count } = values
  const span = rangeOf({ start, count })
  const root = parseRoot(await cidOf(hash, { store: dir }, context))
  const { signal } = context
  const shown = { name: `decode ${name}` }
  /** @param {AsyncIterable<Uint8Array>} pieces */
  const write = pieces => deliver(withHints(pieces), output, shown)

  if (file !== undefined) {
    const terms = { root, groupLog: groupLogOf(file, values['group-log']) }
    return withBlobAndOutboard(name, file, terms, context, (blob, outboard) =>
      write(read(new VerifiedReader({ cid: root, source: blob, outboard }))))
  }
  const { pieces, source, size } = await openInput(name, signal)
  if (start !== undefined && size !== undefined && typeof source === 'string') {
    return write(read(new VerifiedReader({ cid: root, encoded: source, groupLog })))
  }
  // As in bao, nothing is verified if no bytes are wanted.
  if (count === 0) return write(nothing())
  await write(bytesInside(span, verifyStream(pieces, { cid: root, groupLog, signal })))

  /** If the range may be beyond the end of the blob, proves the size first. @param {VerifiedReader} reader */
  async function * read (reader) {
    try {
      const size = span.start === 0 ? Infinity : await reader.size({ signal })
      if (span.start < size) yield * reader.stream(span, { signal })
    } finally {
      await reader.close()
    }
  }
}

/** @type {Run<typeof import('../../table/encodings.js').decodeSlice>} */
export async function decodeSlice ({ values, operands: [hash, start, count, name = '-', output] }, context) {
  const { 'group-log': groupLog = BAO_LOG, store: dir } = values
  const span = parseSpan(start, count)
  const root = parseRoot(await cidOf(hash, { store: dir }, context))
  const { signal } = context
  const { pieces } = await openInput(name, signal)
  const leaves = verifyStream(pieces, { cid: root, ranges: span, groupLog, signal })
  await deliver(withHints(bytesOf(leaves)), output, { name: `decode-slice ${name}` })
}

async function * nothing () {}

/** Passes bytes on, and adds a hint to the error that ends them. @param {AsyncIterable<Uint8Array>} pieces */
async function * withHints (pieces) {
  let isFirst = true
  try {
    for await (const piece of pieces) {
      isFirst = false
      yield piece
    }
  } catch (error) {
    throw hintAtOptions(error, isFirst)
  }
}

/** @param {AsyncIterable<Leaf>} leaves */
async function * bytesOf (leaves) {
  for await (const { bytes } of leaves) yield bytes
}

/**
 * The bytes of leaves that are in a range. Does not wait for leaves after the range.
 *
 * @param {ByteRange} span @param {AsyncIterable<Leaf>} leaves
 */
async function * bytesInside ({ start, end }, leaves) {
  for await (const { offset, bytes } of leaves) {
    const part = bytes.subarray(Math.max(0, start - offset), Math.max(0, end - offset))
    if (part.length > 0) yield part
    if (offset + bytes.length >= end) return
  }
}
