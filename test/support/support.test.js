// The twin is the oracle of the property tests, so the vectors test it first.
import { expect } from 'chai'
import { hex, unhex } from './bytes.js'
import { counter } from './count.js'
import { CONTEXT, KEY, input } from './inputs.js'
import { nameOf, spoil } from './spoil.js'
import {
  Bao, HASH, Tree, chainingValue, cvBytes, derived, hash, keyed, leftLen, parent, rootBytes
} from './twin/index.js'
import { integer, integers, vectors } from './vectors.js'

// The twin hashes only some megabytes a second, and longer vectors have no case that the short ones lack.
const isQuick = ({ input }) => input.len <= 20000

const MODES = { hash: HASH, keyed_hash: keyed(KEY), derive_key: derived(CONTEXT) }

describe('the twin', () => {
  const count = counter('twin')

  it('hashes in all three modes', () => {
    for (const row of vectors.hash.cases.filter(isQuick)) {
      for (const [name, mode] of Object.entries(MODES)) {
        expect(hex(hash(input(row.input), 131, mode))).to.equal(row[name])
      }
      count()
    }
  })

  it('seeks in its output', () => {
    for (const row of vectors.xof) {
      for (const { pos, n, hex: expected } of row.reads) {
        expect(hex(hash(input(row.input), n, HASH, integer(pos)))).to.equal(expected)
        count()
      }
    }
  })

  it('knows chaining values anywhere in the tree', () => {
    const { cvs, far, merges, left_subtree_len: lengths } = vectors.subtree
    const bytes = input(vectors.subtree.input)
    for (const { offset, len, ...expected } of cvs.filter(cv => cv.len <= 20000)) {
      for (const name in expected) {
        expect(hex(chainingValue(bytes.subarray(offset, offset + len), offset / 1024, MODES[name])))
          .to.equal(expected[name])
      }
      count()
    }
    for (const { offset, hash: expected } of far) {
      expect(hex(chainingValue(bytes.subarray(0, 1024), BigInt(offset) / 1024n))).to.equal(expected)
      count()
    }
    for (const { left, right, ...expected } of merges) {
      for (const name in expected) {
        const last = parent(unhex(left), unhex(right), MODES[name])
        expect(hex(cvBytes(last))).to.equal(expected[name].non_root)
        expect(hex(rootBytes(last))).to.equal(expected[name].root)
        if (name === 'hash') expect(hex(rootBytes(last, 131))).to.equal(expected[name].root_xof_131)
        count()
      }
    }
    for (const [len, left] of lengths.filter(([len]) => typeof len === 'number')) {
      expect(leftLen(len)).to.equal(left)
      count()
    }
  })

  it('numbers nodes and pairs', () => {
    for (const { size, chunk_log: groupLog, nodes } of vectors.geometry.trees) {
      const stored = nodes.filter(node => node[5] !== null)
      const met = Tree.steps(size, groupLog).filter(step => step.kind === 'enter' && step.isStored)
      expect(met.map(step => [step.node, step.level, step.start / 1024, step.pre, step.post]))
        .to.deep.equal(stored.map(([node, level, first, , , pre, post]) => [node, level, first, pre, post]))
      count()
    }
  })

  it('selects the chunks that the crate selects', () => {
    for (const [size, query, canonical] of vectors.ranges.truncate.rows.filter(([size]) => size < 1e8)) {
      expect([...Tree.selected(size, integers(query))].sort())
        .to.deep.equal([...Tree.selected(size, integers(canonical))].sort())
      count()
    }
  })

  it('writes outboards and encodings', () => {
    for (const row of vectors.outboards.cases.filter(isQuick)) {
      const tree = Bao.grow(input(row.input))
      for (const { chunk_log: groupLog, pre, post } of row.outboards) {
        expect(hex(hash(Bao.preOrder(tree, groupLog)))).to.equal(pre.b3)
        expect(hex(hash(Bao.postOrder(tree, groupLog)))).to.equal(post.b3)
        count()
      }
    }
    for (const row of vectors.bao.filter(isQuick)) {
      expect(hex(hash(Bao.combined(Bao.grow(input(row.input)), 0)))).to.equal(row.combined.b3)
      count()
    }
  })

  it('writes responses and reads them back', () => {
    for (const row of vectors.responses.cases.filter(isQuick)) {
      const tree = Bao.grow(input(row.input))
      for (const { chunk_log: groupLog, responses } of row.by_chunk_log) {
        for (const { q, b3, items } of responses) {
          const boundaries = integers(q)
          const response = Bao.response(tree, groupLog, boundaries)
          expect(hex(hash(response))).to.equal(b3)
          const decoded = Bao.decode(response, { root: tree.cv, size: row.input.len, groupLog, boundaries })
          expect(decoded.fault).to.equal(undefined)
          if (items !== undefined) expect(decoded.items.join(' ')).to.equal(items)
          count()
        }
      }
    }
  })

  it('refuses what the crate refuses, at the same place', () => {
    for (const row of vectors.responses_bad.filter(isQuick)) {
      const tree = Bao.grow(input(row.input))
      const boundaries = integers(row.q)
      const good = Bao.response(tree, row.chunk_log, boundaries)
      for (const spoilt of row.cases.filter(spoilt => !(spoilt.size > 1e8))) {
        const { response, cid, ...options } = spoil(good, {
          cid: tree.cv,
          size: row.input.len,
          groupLog: row.chunk_log,
          boundaries
        }, spoilt)
        const decoded = Bao.decode(response, { ...options, root: cid })
        const { ok_items: okItems, error } = spoilt
        expect(typeof okItems === 'number' ? decoded.items.length : decoded.items.join(' ')).to.equal(okItems)
        expect(decoded.fault && nameOf(decoded.fault)).to.deep.equal(error ?? undefined)
        count()
      }
    }
  })
})
