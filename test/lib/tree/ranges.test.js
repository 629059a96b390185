import { expect } from 'chai'
import { ChunkRanges } from '../../../lib/index.js'
import { counter } from '../../support/count.js'
import { Tree } from '../../support/twin/index.js'
import { integers, vectors } from '../../support/vectors.js'

const { all, none, last } = ChunkRanges
const ranges = boundaries => ChunkRanges.fromBoundaries(integers(boundaries))
const sorted = chunks => [...chunks].sort((a, b) => a - b)

/**
 * The chunks that a list of boundaries selects in a blob, as a list without open ends. The crate's canonical
 * lists and ours write "to the end" in different ways, but must select the same chunks.
 */
function selection (boundaries, chunks) {
  const out = []
  for (let i = 0; i < boundaries.length; i += 2) {
    const start = Math.min(Number(boundaries[i]), chunks - 1)
    const end = Math.max(start + 1, Math.min(Number(boundaries[i + 1] ?? Infinity), chunks))
    if (out.at(-1) >= start) out[out.length - 1] = Math.max(out.at(-1), end)
    else out.push(start, end)
  }
  return out
}

describe('ChunkRanges for a size', () => {
  const count = counter('ranges.truncate')

  const rows = [
    ...vectors.ranges.truncate.rows,
    ...vectors.responses.cases.flatMap(row => row.by_chunk_log.flatMap(({ responses }) =>
      responses.map(({ q, canonical }) => [row.input.len, q, canonical])))
  ]

  it('selects the same chunks as the crate', () => {
    for (const [size, query, canonical] of rows) {
      const chunks = Math.max(1, Math.ceil(size / 1024))
      const ours = ranges(query).canonical(size)
      const expected = selection(integers(canonical), chunks)
      expect(selection(ours.boundaries, chunks), `${size} [${query}]`).to.deep.equal(expected)
      count()
    }
  })

  it('selects the same chunks as a check of every chunk', () => {
    for (const [size, query] of rows.filter(([size]) => size <= 70000)) {
      const chosen = []
      for (const [start, end] of ranges(query).canonical(size)) {
        for (let chunk = start; chunk < Math.min(end, Tree.chunkCount(size)); chunk++) chosen.push(chunk)
      }
      expect(chosen, `${size} [${query}]`).to.deep.equal(sorted(Tree.selected(size, integers(query))))
    }
  })

  it('is searched only up to the end of the blob', () => {
    let read = 0
    const boundaries = new Proxy(Array.from({ length: 10_000 }, (_, i) => 3 * i), {
      get (target, name) {
        read++
        return target[name]
      }
    })
    const wanted = new ChunkRanges(boundaries)
    read = 0
    expect(wanted.canonical(5000).boundaries).to.deep.equal([0, 3, 4, 5])
    expect(read).to.be.below(20)
  })

  it('does not change when it is canonical', () => {
    for (const [size, query] of rows) {
      const once = ranges(query).canonical(size)
      expect(once.canonical(size).boundaries).to.deep.equal(once.boundaries)
    }
  })

  it('gives bytes: whole chunks, cut at the end', () => {
    for (const [size, query] of rows.filter(([size]) => size <= 70000)) {
      const chosen = Tree.selected(size, integers(query))
      const spans = ranges(query).toBytes(size)
      const bytes = spans.reduce((sum, { start, end }) => sum + end - start, 0)
      const expected = sorted(chosen).reduce((sum, chunk) => sum + Math.min(1024, size - chunk * 1024), 0)
      expect(bytes, `${size} [${query}]`).to.equal(expected)
      for (const { start, end } of spans) {
        expect(start).to.be.lessThan(end)
        expect(end).to.be.at.most(size)
        expect(chosen.has(start / 1024) && chosen.has(Math.ceil(end / 1024) - 1)).to.equal(true)
      }
    }
  })

  it('gives the results of the examples with seven chunks', () => {
    const seven = boundaries => ranges(boundaries).canonical(6 * 1024 + 5)
    expect([...seven([0, 6])]).to.deep.equal([[0, 6]])
    expect(seven([0, 7]).boundaries).to.deep.equal(seven([0]).boundaries)
    for (const query of [[7, 8], [100, 101], ['18446744073709551615'], [6]]) {
      expect([...seven(query)]).to.deep.equal([[6, 7]])
    }
    expect([...seven([0, 6, 7, 10])]).to.deep.equal([[0, 7]])
    expect([...seven([0, 5, 7, 10])]).to.deep.equal([[0, 5], [6, 7]])
    expect([...seven([])]).to.deep.equal([])
  })
})

describe('ChunkRanges from bytes and to groups', () => {
  const count = counter('ranges.rounding')

  it('round outwards', () => {
    for (const row of vectors.ranges.rounding) {
      let fromBytes = none
      for (let i = 0; i < row.bytes.length; i += 2) {
        const end = row.bytes[i + 1] ?? Infinity
        fromBytes = fromBytes.union(ChunkRanges.fromBytes(row.bytes[i], end))
      }
      expect(fromBytes.boundaries).to.deep.equal(row.chunks)
      expect(fromBytes.roundToGroups(4).boundaries).to.deep.equal(row.out_4)
      expect(fromBytes.roundToGroups(2).boundaries).to.deep.equal(row.out_2)
      expect(fromBytes.roundToGroups(0).boundaries).to.deep.equal(row.chunks)
      count()
    }
  })

  it('are empty for an empty span', () => {
    expect(ChunkRanges.fromBytes(0, 0).boundaries).to.deep.equal([])
    expect(ChunkRanges.fromBytes(5000, 5000).boundaries).to.deep.equal([])
  })

  it('reach as far as sizes do', () => {
    expect(ChunkRanges.fromBytes(0).boundaries).to.deep.equal([0])
    expect(ChunkRanges.fromBytes(2 ** 52, Number.MAX_SAFE_INTEGER).boundaries).to.deep.equal([2 ** 42, 2 ** 43])
    expect(ChunkRanges.fromBytes(2 ** 42 + 1, 2 ** 42 + 2).boundaries).to.deep.equal([2 ** 32, 2 ** 32 + 1])
    expect(ranges([2 ** 40 + 1, 2 ** 41 + 1]).roundToGroups(4).boundaries).to.deep.equal([2 ** 40, 2 ** 41 + 16])
  })
})

describe('ChunkRanges as sets', () => {
  const count = counter('ranges.ops')

  it('give the results of the vectors', () => {
    for (const row of vectors.ranges.ops) {
      const a = ranges(row.a)
      const b = ranges(row.b)
      expect(a.union(b).boundaries).to.deep.equal(row.union)
      expect(a.intersect(b).boundaries).to.deep.equal(row.intersection)
      expect(a.difference(b).boundaries).to.deep.equal(row.difference)
      expect(a.union(b).difference(a.intersect(b)).boundaries).to.deep.equal(row.xor)
      expect(all.difference(a).boundaries).to.deep.equal(row.complement_a)
      count()
    }
  })

  it('know their members', () => {
    for (const { a: boundaries } of vectors.ranges.ops) {
      const set = ranges(boundaries)
      for (let chunk = 0; chunk < 60; chunk++) {
        const below = boundaries.filter(boundary => boundary <= chunk).length
        expect(set.has(chunk), `${chunk} in [${boundaries}]`).to.equal(below % 2 === 1)
      }
    }
    expect(all.has(2 ** 43)).to.equal(true)
    expect(none.has(0)).to.equal(false)
    // An empty interval is contained in every set, and intersects none.
    for (const [set, chunk] of [[all, 5], [none, 5], [ranges([3, 6]), 4]]) {
      expect(set.contains(chunk, chunk)).to.equal(true)
      expect(set.intersects(chunk, chunk)).to.equal(false)
    }
    expect(last.has(2 ** 43)).to.equal(false)
  })

  it('yield their ranges', () => {
    expect([...ranges([1, 3, 9, 12])]).to.deep.equal([[1, 3], [9, 12]])
    expect([...ranges([1, 3, 9])]).to.deep.equal([[1, 3], [9, Infinity]])
    expect([...none]).to.deep.equal([])
  })

  it('are not changed by any call', () => {
    const set = ranges([1, 3, 9])
    set.union(all)
    set.difference(ranges([2, 10]))
    set.canonical(100)
    set.roundToGroups(4)
    expect(set.boundaries).to.deep.equal([1, 3, 9])
    expect(all.boundaries).to.deep.equal([0])
    expect(none.boundaries).to.deep.equal([])
  })

  it('take boundaries beyond any blob, in both number types', () => {
    for (const query of [[5, 2n ** 64n - 1n], [5, 2 ** 60], [5n, 2n ** 53n]]) {
      expect([...ChunkRanges.fromBoundaries(query).canonical(20 * 1024)]).to.deep.equal([[5, 20]])
    }
    for (const query of [[2n ** 64n - 1n], [2n ** 64n - 2n, 2n ** 64n - 1n], [0, 1, 2n ** 53n, 2n ** 54n]]) {
      expect(ChunkRanges.fromBoundaries(query).canonical(20 * 1024).has(19)).to.equal(true)
    }
  })
})
