import { expect } from 'chai'
import fc from 'fast-check'
import { ChunkRanges, ENTER, LEAF, walk } from '../../lib/index.js'
import { boundaries, groupLogs, holds, sizes } from '../support/property.js'
import { Tree } from '../support/twin/index.js'

const SIZE = 60_000
const CHUNKS = 80
const ranges = list => ChunkRanges.fromBoundaries(list)
const members = set => Array.from({ length: CHUNKS }, (_, chunk) => set.has(chunk))

describe('property: the walk', () => {
  it('takes the steps of the recursion', () => holds('walk', fc.property(
    sizes(SIZE), groupLogs, boundaries(SIZE),
    (size, groupLog, list) => {
      const steps = [...walk(size, groupLog, ranges(list))].map(({ kind, ...step }) => {
        if (kind !== LEAF) return { kind: kind === ENTER ? 'enter' : 'leave', ...step }
        const { start, len, isRoot, pre } = step
        return { kind: 'leaf', start, len, isRoot, pre }
      })
      expect(steps).to.deep.equal(Tree.steps(size, groupLog, list))
    }), 200))
})

describe('property: ChunkRanges', () => {
  it('are sets', () => holds('ranges: sets', fc.property(boundaries(SIZE), boundaries(SIZE), (listA, listB) => {
    const a = ranges(listA)
    const b = ranges(listB)
    const inA = members(a)
    const inB = members(b)
    expect(members(a.union(b))).to.deep.equal(inA.map((is, i) => is || inB[i]))
    expect(members(a.intersect(b))).to.deep.equal(inA.map((is, i) => is && inB[i]))
    expect(members(a.difference(b))).to.deep.equal(inA.map((is, i) => is && !inB[i]))
    for (const result of [a.union(b), a.intersect(b), a.difference(b)]) {
      // Boundaries that increase strictly are the only form of a set: equal sets have equal boundaries.
      expect(ranges(result.boundaries).boundaries).to.deep.equal(result.boundaries)
    }
    expect(a.difference(b).union(a.intersect(b)).boundaries).to.deep.equal(a.boundaries)
  }), 200))

  it('select the same chunks as a check of each one', () => holds(
    'ranges: canonical', fc.property(sizes(SIZE), boundaries(SIZE), (size, list) => {
      const canonical = ranges(list).canonical(size)
      const chosen = Tree.selected(size, list)
      for (let chunk = 0; chunk < Tree.chunkCount(size); chunk++) {
        expect(canonical.has(chunk)).to.equal(chosen.has(chunk))
      }
      expect(canonical.canonical(size).boundaries).to.deep.equal(canonical.boundaries)
    }), 200))

  it('round outwards to the smallest set of groups that contains them', () => holds(
    'ranges: groups', fc.property(boundaries(SIZE), groupLogs, (list, groupLog) => {
      const group = 2 ** groupLog
      const set = ranges(list)
      const rounded = set.roundToGroups(groupLog)
      for (let start = 0; start + group <= CHUNKS; start += group) {
        const isTouched = members(set).slice(start, start + group).includes(true)
        expect(members(rounded).slice(start, start + group)).to.deep.equal(Array(group).fill(isTouched))
      }
    })))
})
