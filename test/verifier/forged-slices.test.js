// A verifier must give the bytes before the fault of a forged encoding, then refuse it, and name the place.
import { expect } from 'chai'
import { BaoError, ChunkRanges, hash, outboardLen } from '../../lib/index.js'
import { Outboard, createOutboardSync, encode, encodeSliceSync } from '../../encoder/index.js'
import { SliceVerifier, VerifiedReader } from '../../verifier/index.js'
import { concat, flipped, hex, same, unhex, withHeader } from '../support/bytes.js'
import { counter } from '../support/count.js'
import { waysInTurn } from '../support/effort.js'
import { bytesOf, differenceOf, errorOf, feed, joined, oneByOne, ragged, whole } from '../support/feeding.js'
import { input } from '../support/inputs.js'
import { forEachKernel } from '../support/kernels.js'
import { span } from '../support/spans.js'
import { nameOf, spoil } from '../support/spoil.js'
import { Bao, HASH } from '../support/twin/index.js'
import { integers, vectors } from '../support/vectors.js'

const CODES = {
  hash_mismatch: ['BAO_PARENT_MISMATCH', 'BAO_LEAF_MISMATCH'],
  truncated: ['BAO_TRUNCATED']
}

const cutsInTurn = waysInTurn()

/** Sizes from 2^53 on are not safe integers. They are refused, where bao goes on to a mismatch. */
const isTooLarge = size => size !== undefined && BigInt(size) > BigInt(Number.MAX_SAFE_INTEGER)

/**
 * An outboard that is too short for the size in its own header is refused by `fromBao` immediately, where bao reads on
 * to the missing pair.
 */
const isShort = (
  { what, header }, outboard
) => what === 'outboard_header' && !isTooLarge(header) && 8 + outboardLen(header, 0) > outboard.length

/** @param {{ error: string | null, header?: number | string }} spoilt */
function expectError (error, spoilt, message) {
  if (spoilt.error === null) return expect(error, message).to.equal(undefined)
  expect(error?.code, `${message}: ${error?.stack}`).to.be.oneOf(
    isTooLarge(spoilt.header) ? ['BAO_SIZE_TOO_LARGE'] : CODES[spoilt.error]
  )
}

/** The slice that a case of `bao_bad` spoils, and the options to read it. */
function spoiltSlice (good, { encoded, slice }, spoilt) {
  const ranges = span(spoilt.start ?? 0, spoilt.len ?? Number.MAX_SAFE_INTEGER)
  const read = { cid: good, ranges, groupLog: 0 }
  switch (spoilt.what) {
    case 'combined_flip': return { ...read, bytes: flipped(encoded, spoilt.offset) }
    case 'combined_truncate': return { ...read, bytes: encoded.slice(0, spoilt.to) }
    case 'combined_append': return { ...read, bytes: concat([encoded, unhex(spoilt.hex)]) }
    case 'combined_wrong_hash': return { ...read, bytes: encoded, cid: unhex(spoilt.hash) }
    case 'combined_header': return { ...read, bytes: withHeader(encoded, spoilt.header) }
    case 'slice_flip': return { ...read, bytes: flipped(slice(ranges), spoilt.offset, spoilt.xor) }
    case 'slice_truncate': return { ...read, bytes: slice(ranges).slice(0, spoilt.to) }
    case 'slice_header': return { ...read, bytes: withHeader(slice(ranges), spoilt.header) }
    case 'slice_other_params': return {
      ...read, bytes: slice(ranges), ranges: span(spoilt.decode_start, spoilt.decode_len)
    }
    default: return undefined
  }
}

/** The reader of an encoding that a case of `bao_bad` spoils. May throw: some faults show before the first read. */
function spoiltReader (root, { bytes, encoded, outboard }, spoilt) {
  const withOutboard = (source, outboard) => new VerifiedReader(
    { cid: root, source, outboard: Outboard.fromBao(outboard, root) }
  )
  switch (spoilt.what) {
    case 'seek': return new VerifiedReader({ cid: root, encoded, groupLog: 0 })
    case 'seek_bad_last_byte': return new VerifiedReader(
      { cid: root, encoded: flipped(encoded, encoded.length - 1), groupLog: 0 }
    )
    case 'seek_header': return new VerifiedReader(
      { cid: root, encoded: withHeader(encoded, spoilt.header), groupLog: 0 }
    )
    case 'outboard_flip': return withOutboard(bytes, flipped(outboard, spoilt.offset, spoilt.xor))
    case 'outboard_header': return withOutboard(bytes, withHeader(outboard, spoilt.header))
    case 'outboard_data_flip': return withOutboard(flipped(bytes, spoilt.offset), outboard)
    case 'outboard_data_truncate': return withOutboard(bytes.slice(0, spoilt.to), outboard)
    case 'outboard_data_append': return withOutboard(concat([bytes, unhex(spoilt.hex)]), outboard)
    default: throw new Error(`no such change: ${spoilt.what}`)
  }
}

forEachKernel(kernel => describe('forged bao encodings', () => {
  const count = counter('bao_bad', kernel)

  for (const row of vectors.bao_bad) {
    const bytes = input(row.input)
    const root = unhex(row.hash)
    const good = () => {
      const outboard = createOutboardSync(bytes, { groupLog: 0 })
      return {
        bytes,
        encoded: encode(bytes, { groupLog: 0 }).bytes,
        outboard: outboard.toBao(),
        slice: ranges => encodeSliceSync(bytes, outboard, ranges)
      }
    }

    it(`${bytes.length} bytes: slices`, () => {
      const encodings = good()
      for (const spoilt of row.cases) {
        const { bytes: slice, ...options } = spoiltSlice(root, encodings, spoilt) ?? {}
        if (slice === undefined) continue
        const cuts = [() => whole(slice), () => ragged(slice, 7), ...slice.length < 8000 ? [() => oneByOne(slice)] : []]
        for (const cut of cutsInTurn(cuts)) {
          const pieces = cut()
          const { leaves, error } = feed(new SliceVerifier(options), pieces)
          const message = `${JSON.stringify(spoilt)} in ${pieces.length} pieces`
          expectError(error, spoilt, message)
          const { start } = options.ranges
          const content = bytesOf(leaves)
          expect(content.length, message).to.equal(spoilt.ok_bytes)
          expect(same(content, bytes.subarray(start, start + content.length)), message).to.equal(true)
        }
        count()
      }
    })

    it(`${bytes.length} bytes: seeking readers`, async () => {
      const encodings = good()
      for (const spoilt of row.cases.filter(spoilt => /^(seek|outboard)/.test(spoilt.what))) {
        const message = JSON.stringify(spoilt)
        if (isShort(spoilt, encodings.outboard)) {
          expect(
            () => spoiltReader(root, encodings, spoilt), message
          ).to.throw(BaoError).with.property('code', 'BAO_TRUNCATED')
          count()
          continue
        }
        const parts = []
        const error = await errorOf(async () => {
          const reader = spoiltReader(root, encodings, spoilt)
          for await (const part of reader.stream({ start: spoilt.pos ?? 0 })) parts.push(part)
        })
        expectError(error, spoilt, message)
        const content = concat(parts)
        expect(content.length, message).to.equal(spoilt.ok_bytes)
        expect(same(content, bytes.subarray(spoilt.pos ?? 0).subarray(0, content.length)), message).to.equal(true)

        const readError = await errorOf(async () => {
          const content = await spoiltReader(root, encodings, spoilt).read({ start: spoilt.pos ?? 0 })
          expect(content.length, message).to.equal(spoilt.ok_bytes)
        })
        expectError(readError, spoilt, message)

        // The size is returned only when the last chunk proves it, never from a header alone.
        const told = []
        const sizeError = await errorOf(async () => told.push(await spoiltReader(root, encodings, spoilt).size()))
        if (sizeError === undefined) expect(told, message).to.deep.equal([bytes.length])
        else expect(sizeError, message).to.be.instanceOf(BaoError)
        if (spoilt.error === null) expect(sizeError, message).to.equal(undefined)
        if (spoilt.header !== undefined) expect(sizeError, message).to.be.instanceOf(BaoError)
        count()
      }
    })
  }
}))

forEachKernel(() => describe('a wrong byte anywhere in a long slice', () => {
  // The slice is long, so much is hashed side by side before anything is compared. The place must still be exact.
  const bytes = input({ gen: 'xs', seed: 31, len: 300 * 1024 + 1 })

  for (const groupLog of [0, 1, 3]) {
    it(`is found at its own pair or leaf, in groups of ${2 ** groupLog}`, () => {
      const { root, bytes: encoded } = encode(bytes, { groupLog })
      let at = 8
      let good = 0
      for (const [i, { name, bytes: item }] of Bao.items(Bao.grow(bytes), groupLog, [0]).entries()) {
        if (i % 5 === groupLog) {
          const spoilt = flipped(encoded, at + (i * 37) % item.length, 1 + i % 255)
          const { leaves, error } = feed(
            new SliceVerifier({ cid: root, groupLog }), i % 2 ? whole(spoilt) : ragged(spoilt, i)
          )
          const place = Number(name.match(/\d+/)[0])
          expect(error, name).to.include(name[0] === 'P'
            ? { code: 'BAO_PARENT_MISMATCH', node: place }
            : { code: 'BAO_LEAF_MISMATCH', start: place, len: item.length })
          expect(leaves.map(leaf => [leaf.offset, leaf.bytes.length]), name).to.deep.equal(good > 0 ? [[0, good]] : [])
          if (good > 0) expect(same(leaves[0].bytes, bytes.subarray(0, good)), name).to.equal(true)
        }
        at += item.length
        if (name[0] === 'L') good += item.length
      }
      expect(good).to.equal(bytes.length)
    })
  }
}))

forEachKernel(() => describe('a wrong header whose tree has the same shape', () => {
  it('gives the right bytes, and never its size', async () => {
    let unnoticed = 0
    for (const row of vectors.bao_bad) {
      const bytes = input(row.input)
      const { root, bytes: encoded } = encode(bytes, { groupLog: 0 })
      for (const { start, len, header } of row.cases.filter(
        ({ what, error }) => what === 'slice_header' && error === null
      )) {
        if (header === bytes.length) continue
        const reader = new VerifiedReader({ cid: root, encoded: withHeader(encoded, header), groupLog: 0 })
        const content = await reader.read({ start, end: start + Math.max(1, len) })
        expect(same(content, bytes.subarray(start, start + Math.max(1, len)))).to.equal(true)
        expect(await errorOf(() => reader.size()), `${header} for ${bytes.length}`).to.be.instanceOf(BaoError)
        expect(
          await errorOf(() => reader.read({ start: header })), `${header} for ${bytes.length}`
        ).to.be.instanceOf(BaoError)
        unnoticed++
      }
    }
    expect(unnoticed).to.be.greaterThan(0)
  })
}))

forEachKernel(kernel => describe('forged responses', () => {
  const count = counter('responses_bad', kernel)

  for (const row of vectors.responses_bad) {
    it(`${row.input.len} bytes in groups of ${2 ** row.chunk_log}: [${row.q}]`, () => {
      const bytes = input(row.input)
      const boundaries = integers(row.q)
      const ranges = ChunkRanges.fromBoundaries(boundaries)
      const good = encodeSliceSync(
        bytes, createOutboardSync(bytes, { groupLog: row.chunk_log }), ranges, { header: false }
      )
      expect(hex(hash(good))).to.equal(row.response.b3)

      for (const spoilt of row.cases) {
        const { response, ...options } = spoil(
          good, { cid: unhex(row.root), ranges, groupLog: row.chunk_log, size: bytes.length }, spoilt
        )
        const expected = expectedLeaves(bytes, response, { ...options, boundaries }, spoilt)
        const cuts = [
          () => whole(response), () => ragged(response, 11),
          ...response.length < 4000 ? [() => oneByOne(response)] : []
        ]
        for (const cut of cutsInTurn(cuts)) {
          const pieces = cut()
          const { leaves, error } = feed(new SliceVerifier(options), pieces)
          const message = `${JSON.stringify(spoilt)} in ${pieces.length} pieces`
          expect(error && nameOf(error), `${message}: ${error?.stack}`).to.deep.equal(spoilt.error ?? undefined)
          expect(differenceOf(leaves, expected), message).to.equal(undefined)
        }
        count()
      }
    })
  }
}))

/** The leaves before the error. Of long lists the vectors have only the number of items; the twin has the items. */
function expectedLeaves (bytes, response, { cid, size, groupLog, boundaries }, { ok_items: okItems }) {
  if (typeof okItems === 'number') {
    const decoded = Bao.decode(response, { root: cid, size, groupLog, boundaries, mode: HASH })
    expect(decoded.items).to.have.length(okItems)
    return joined(decoded.leaves)
  }
  return joined([...okItems.matchAll(/L(\d+)\+(\d+)/g)].map(([, offset, len]) =>
    ({ offset: Number(offset), bytes: bytes.subarray(Number(offset), Number(offset) + Number(len)) })))
}
