import { expect } from 'chai'
import {
  ChunkRanges, ENTER, LEAF, LEAVE, chunkCount, groupCount, leftLen, levelOf, outboardLen, walk
} from '../../../lib/index.js'
import { nodesInPreOrder } from '../../../lib/tree/geometry.js'
import { counter } from '../../support/count.js'
import { Tree } from '../../support/twin/index.js'
import { levelOf as twinLevelOf } from '../../support/twin/tree.js'
import { vectors } from '../../support/vectors.js'

const ofKind = (steps, kind) => steps.filter(step => step.kind === kind)

/** The facts about a step that the twin knows. */
function plain ({ kind, start, len, isRoot, pre, ...rest }) {
  if (kind === LEAF) return { kind: 'leaf', start, len, isRoot, pre }
  const { node, level, isStored, post, hasLeft, hasRight } = rest
  const name = kind === ENTER ? 'enter' : 'leave'
  return { kind: name, node, level, start, len, isRoot, isStored, pre, post, hasLeft, hasRight }
}

describe('the shape of the tree', () => {
  const count = counter('geometry')

  for (const tree of vectors.geometry.trees) {
    const { size, chunk_log: groupLog, blocks } = tree
    const stored = tree.nodes.filter(([, , , , , pre]) => pre !== null)

    it(`${size} bytes in groups of ${2 ** groupLog}: counts`, () => {
      expect(chunkCount(size)).to.equal(Math.max(1, tree.chunks))
      expect(groupCount(size, groupLog)).to.equal(blocks)
      expect(outboardLen(size, groupLog)).to.equal(tree.outboard_len)
      count()
    })

    it(`${size} bytes in groups of ${2 ** groupLog}: parents`, () => {
      const steps = [...walk(size, groupLog)]
      expect(ofKind(steps, ENTER).map(step => [step.node, step.level, step.start / 1024, step.pre, step.post]))
        .to.deep.equal(stored.map(([node, level, first, , , pre, post]) => [node, level, first, pre, post]))

      for (const [i, [, , first, mid, end]] of stored.entries()) {
        const step = ofKind(steps, ENTER)[i]
        expect(step.len).to.equal(Math.min(end * 1024, size) - first * 1024)
        expect(step.start + leftLen(step.len)).to.equal(mid * 1024)
        expect(step.isStored).to.equal(true)
      }
      expect(ofKind(steps, LEAVE).map(step => step.post)).to.deep.equal(stored.map((_, i) => i))
      expect(ofKind(steps, ENTER).map(step => step.pre)).to.deep.equal(stored.map((_, i) => i))
      count(stored.length)
    })

    it(`${size} bytes in groups of ${2 ** groupLog}: leaves`, () => {
      const leaves = ofKind([...walk(size, groupLog)], LEAF)
      expect(leaves).to.have.length(blocks)
      let end = 0
      for (const { start, len } of leaves) {
        expect(start).to.equal(end)
        end += len
      }
      expect(end).to.equal(size)
      count(leaves.length)
    })
  }
})

describe('the walk', () => {
  const KIB = 1024
  const sizes = [
    0, 1, KIB, KIB + 1, 2 * KIB, 2 * KIB + 1, 3 * KIB + 1, 5 * KIB + 1, 7 * KIB + 1, 11 * KIB, 13 * KIB - 1,
    16 * KIB + 1, 20 * KIB, 31 * KIB, 37 * KIB
  ]
  const severalRanges = [
    [], [0], [5], [0, 1, 3, 4], [1, 2, 9, 12, 30], [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 99], [7, 8, 2 ** 40]
  ]

  function expectStepsOfTwin (size, groupLog, boundaries) {
    const steps = [...walk(size, groupLog, ChunkRanges.fromBoundaries(boundaries))].map(plain)
    const expected = Tree.steps(size, groupLog, boundaries)
    expect(steps, `${size} bytes, ${groupLog}, [${boundaries}]`).to.deep.equal(expected)
  }

  it('takes the steps of the recursion, for every single range of small trees', () => {
    for (const size of sizes.filter(size => size <= 20 * 1024)) {
      const chunks = chunkCount(size)
      for (const groupLog of [0, 1, 2, 4]) {
        for (let start = 0; start <= chunks + 1; start++) {
          for (let end = start + 1; end <= chunks + 2; end++) expectStepsOfTwin(size, groupLog, [start, end])
        }
      }
    }
  })

  it('takes the steps of the recursion, for several ranges and for no range', () => {
    for (const size of sizes) {
      for (const groupLog of [0, 1, 2, 3, 4, 5]) {
        for (const boundaries of severalRanges) expectStepsOfTwin(size, groupLog, boundaries)
      }
    }
  })

  it('takes the steps of the example', () => {
    const example = (groupLog, boundaries) => [...walk(5121, groupLog, ChunkRanges.fromBoundaries(boundaries))]
      .filter(step => step.kind !== LEAVE)
      .map(step => step.kind === ENTER ? `P${step.node}` : `L${step.start}+${step.len}`).join(' ')
    expect(example(0, [0])).to.equal('P3 P1 P0 L0+1024 L1024+1024 P2 L2048+1024 L3072+1024 P4 L4096+1024 L5120+1')
    expect(example(1, [0])).to.equal('P3 P1 L0+2048 L2048+2048 L4096+1025')
    expect(example(2, [0])).to.equal('P3 L0+4096 L4096+1025')
    expect(example(4, [0])).to.equal('L0+5121')
    for (const groupLog of [0, 1, 2, 4]) expect(example(groupLog, [1, 2])).to.equal('P3 P1 P0 L1024+1024')
    expect(example(0, [3, 4, 5])).to.equal('P3 P1 P2 L3072+1024 P4 L5120+1')
    expect(example(4, [0, 1, 99])).to.equal('P3 P1 P0 L0+1024 P4 L5120+1')
    expect(example(1, [2, 6])).to.equal('P3 P1 L2048+2048 L4096+1025')
  })

  it('knows the level of every parent, also in the largest blob', () => {
    for (let node = 0; node < 5000; node++) expect(levelOf(node), `${node}`).to.equal(twinLevelOf(node))
    for (let level = 0; level < 43; level++) {
      for (const odd of [1, 3, 5, 2 ** 20 - 1, 2 ** 43 - 1]) {
        const node = odd * 2 ** level - 1
        if (node <= 2 ** 43) expect(levelOf(node), `${node}`).to.equal(level)
      }
    }
  })

  it('lists the parents of any part of an outboard in pre-order', () => {
    for (const size of [0, 1024, 1025, 16_385, 100_000, 1_000_001]) {
      for (const groupLog of [0, 2, 4]) {
        const all = ofKind([...walk(size, groupLog)], ENTER).filter(step => step.isStored).map(step => step.node)
        for (const from of [0, 1, 2, 7, 31, all.length - 1, all.length]) {
          for (const to of [from, from + 1, from + 40, all.length]) {
            const [first, end] = [Math.max(0, from), Math.max(0, to)]
            const part = [...nodesInPreOrder(size, groupLog, first, end)]
            expect(part, `${first} to ${end} of ${size} bytes`).to.deep.equal(all.slice(first, end))
          }
        }
      }
    }
    const last = 2 ** 43 - 2
    expect([...nodesInPreOrder(Number.MAX_SAFE_INTEGER, 0, last, last + 1)]).to.deep.equal([2 ** 43 - 2])
  })

  it('walks the largest blob, for which shifts and 32 bits are too small', () => {
    const size = Number.MAX_SAFE_INTEGER
    const chunks = 2 ** 43

    const first = [...walk(size, 0, ChunkRanges.fromBoundaries([0, 1]))]
    const down = Array.from({ length: 43 }, (_, i) => 2 ** (42 - i) - 1)
    expect(ofKind(first, ENTER).map(step => step.node)).to.deep.equal(down)
    expect(ofKind(first, ENTER).map(step => step.pre)).to.deep.equal(down.map((_, i) => i))
    expect(ofKind(first, LEAF).map(({ start, len }) => [start, len])).to.deep.equal([[0, 1024]])
    expect(ofKind(first, LEAVE).map(step => step.node)).to.deep.equal(down.toReversed())

    const last = [...walk(size, 0, ChunkRanges.last)]
    expect(ofKind(last, ENTER).map(step => step.node)).to.deep.equal(down.map((_, i) => chunks - 2 ** (42 - i) - 1))
    expect(ofKind(last, LEAF).map(({ start, len }) => [start, len])).to.deep.equal([[(chunks - 1) * 1024, 1023]])
    expect(ofKind(last, ENTER)[0].post).to.equal(chunks - 2)
    expect(ofKind(last, LEAVE).at(-1).isRoot).to.equal(true)

    const middle = [...walk(size, 4, ChunkRanges.fromBoundaries([2 ** 32, 2 ** 32 + 16]))]
    expect(ofKind(middle, LEAF).map(({ start, len }) => [start, len])).to.deep.equal([[2 ** 42, 16384]])
    expect(ofKind(middle, ENTER)).to.have.length(39)
  })
})
