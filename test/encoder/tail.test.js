// A tree of finished subtrees and of bytes is the tree of all bytes, wherever the subtrees are.
import { expect } from 'chai'
import fc from 'fast-check'
import { Tail } from '../../encoder/tail.js'
import { hash, subtreeCv } from '../../lib/index.js'
import { u8 } from '../../lib/engine/arena.js'
import { HASH_MODE } from '../../lib/engine/mode.js'
import { TreeBuilder } from '../../lib/hash/tree-builder.js'
import { eachPair } from '../../lib/outboard/pairs.js'
import { hex } from '../support/bytes.js'
import { KIB } from '../support/constants.js'
import { noise } from '../support/inputs.js'
import { forEachKernel } from '../support/kernels.js'
import { holds } from '../support/property.js'

const GROUP = 16 * KIB
const BYTES = noise(700 * KIB, 39)

/** A sink that keeps the pairs of groups by their nodes. */
function pairKeeper () {
  const pairs = new Map()
  return { pairs, sink: eachPair(4, (node, at) => pairs.set(node, hex(u8.slice(at, at + 64)))) }
}

/** The adjacent subtrees from one border of a group to another one, or to the end of the blob. */
function subtreesBetween (start, end, size) {
  const spans = []
  for (let at = start; at < end; at = spans.at(-1).end) {
    let len = 512 * KIB
    while (len > GROUP && (at % len !== 0 || at + len > end || len === size)) len /= 2
    spans.push({ start: at, end: Math.min(at + len, end) })
  }
  return spans
}

const sizes = fc.oneof(
  fc.integer({ min: 1, max: BYTES.length }),
  fc.integer({ min: 1, max: 43 }).map(groups => groups * GROUP),
  fc.integer({ min: 1, max: 43 }).map(groups => groups * GROUP + 1)
)
/** Borders at which bytes and subtrees take turns. */
const borders = fc.uniqueArray(fc.integer({ min: 1, max: 43 }), { maxLength: 4 })
  .map(groups => groups.sort((a, b) => a - b).map(group => group * GROUP))

forEachKernel(kernel => describe('a tree of subtrees and bytes', () => {
  it('is the tree of all bytes, wherever the subtrees are', () => holds(
    `a tree of subtrees and bytes, kernel ${kernel}`,
    fc.property(sizes, borders, fc.boolean(), fc.integer({ min: 1, max: 200 * KIB }), (size, borders, isFirst, len) => {
      const blob = BYTES.subarray(0, size)
      const whole = pairKeeper()
      const tree = new TreeBuilder(HASH_MODE, { sink: whole.sink })
      tree.update(blob)
      tree.hash()
      const { pairs, sink } = pairKeeper()
      const tail = new Tail(HASH_MODE, sink)
      let isSubtrees = isFirst && size > GROUP // a single group would be the root
      for (const end of [...borders.filter(border => border < size), size]) {
        if (isSubtrees) {
          for (const span of subtreesBetween(tail.size, end, size)) {
            const bytes = blob.subarray(span.start, span.end)
            tail.addSubtree(subtreeCv(bytes, span.start / KIB), bytes.length)
            const below = pairKeeper()
            const subtree = new TreeBuilder(HASH_MODE, { startChunk: span.start / KIB, sink: below.sink })
            subtree.update(bytes)
            subtree.cv()
            for (const [node, pair] of below.pairs) pairs.set(node, pair)
          }
        } else {
          tail.expectSubtreeAt(end < size ? end : 0)
          while (tail.size < end) tail.update(blob.subarray(tail.size, Math.min(tail.size + len, end)))
        }
        expect(tail.size).to.equal(end)
        isSubtrees = !isSubtrees
      }
      expect(hex(tail.hash())).to.equal(hex(hash(blob)))
      expect([...pairs].sort()).to.deep.equal([...whole.pairs].sort())
    }), 300))

  it('is that of the empty blob without any', () => {
    expect(hex(new Tail(HASH_MODE).hash())).to.equal(hex(hash(new Uint8Array(0))))
  })
}))
