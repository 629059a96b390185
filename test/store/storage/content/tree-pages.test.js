// The places of a tree's pairs. Two nodes with one place would overwrite each other without an error.
import { expect } from 'chai'
import { Page, PageEditor, pageOfGroup, placeInPages } from '../../../../store/storage/content/tree-pages.js'
import { GROUP } from '../../../support/constants.js'
import { Tree } from '../../../support/twin/index.js'
import { noise } from '../../../support/inputs.js'
import { same } from '../../../support/bytes.js'

const GROUP_LOG = 4
const PAGE_GROUPS = 64
const PAIRS = 63
const SLOTS = new Set(Array(PAIRS).keys())

const nameOf = ({ band, lastChunk }) => `${band} ${lastChunk}`

/** The stored parents above every group, the root first, by a plain recursion over groups. */
function * paths (count) {
  function * below (start, end, path) {
    if (end - start === 1) {
      yield { group: start, path }
      return
    }
    const node = Tree.nodeNumber(start * GROUP, end * GROUP)
    const middle = start + 2 ** (Math.ceil(Math.log2(end - start)) - 1)
    yield * below(start, middle, [...path, node])
    yield * below(middle, end, [...path, node])
  }
  yield * below(0, count, [])
}

/** All sizes up to three pages; then full pages and full bands, and one more; and some arbitrary sizes. */
const COUNTS = [...Array.from({ length: 3 * PAGE_GROUPS }, (_, i) => i + 1), 1000, 4096, 4097, 5001]

describe('store: pages', () => {
  it('give every stored parent a slot of its own', () => {
    for (const count of COUNTS) {
      const taken = new Set()
      const nodes = new Set([...paths(count)].flatMap(({ path }) => path))
      expect(nodes.size).to.equal(count - 1)
      for (const node of nodes) {
        const { page, slot } = placeInPages(node)
        if (!SLOTS.has(slot)) expect.fail(`slot ${slot} of node ${node}`)
        taken.add(`${nameOf(page)} ${slot}`)
      }
      expect(taken.size, `places for ${count} groups`).to.equal(nodes.size)
    }
  })

  it('on the way from the root to any group are at most seven', () => {
    for (const count of COUNTS) {
      const levels = Math.ceil(Math.log2(count))
      for (const { group, path } of paths(count)) {
        const pages = new Set(path.map(node => nameOf(placeInPages(node).page)))
        if (pages.size > Math.ceil(levels / 6)) expect.fail(`${pages.size} pages lead to group ${group} of ${count}`)
      }
    }
  })

  it('begin with the one that marks the group, if the group has a parent there', () => {
    for (const count of [2, 63, 64, 65, 1000, 5001]) {
      for (const { group, path } of paths(count)) {
        const { band, lastChunk } = pageOfGroup(group)
        const first = lastChunk + 1 - PAGE_GROUPS * 16
        const isIn = band === 0 && first <= group * 16 && group * 16 <= lastChunk
        if (!isIn) expect.fail(`group ${group} is marked in page ${nameOf({ band, lastChunk })}`)
        const lowest = placeInPages(path.at(-1)).page
        if (lowest.band === 0 && lowest.lastChunk !== lastChunk) expect.fail(`group ${group} of ${nameOf(lowest)}`)
      }
    }
  })

  it('sort after all that they cover, and no two have the same name', () => {
    const covers = new Map()
    for (const { group, path } of paths(5001)) {
      for (const node of path) {
        const { page } = placeInPages(node)
        if (page.lastChunk < group * 16 + 15) expect.fail(`page ${nameOf(page)} is before group ${group}`)
        const cover = covers.get(nameOf(page)) ?? { from: group, to: group }
        covers.set(nameOf(page), { from: Math.min(cover.from, group), to: Math.max(cover.to, group) })
      }
    }
    for (const [name, { from, to }] of covers) {
      const [band] = name.split(' ').map(Number)
      expect(Math.floor(from / PAGE_GROUPS ** (band + 1)), name).to.equal(Math.floor(to / PAGE_GROUPS ** (band + 1)))
    }
  })

  it('have the same names and slots for every size of the blob', () => {
    // A node keeps its number while a blob grows. So its place must depend on the number only, even for large numbers.
    const BANDS = 8
    for (let level = GROUP_LOG; level < GROUP_LOG + 6 * BANDS - 4; level++) {
      for (const index of [0, 1, 2, 31, 62, 63].filter(index => (2 * index + 2) * 2 ** level < 2 ** 53)) {
        const node = (2 * index + 1) * 2 ** level - 1
        const { page: { band, lastChunk }, slot } = placeInPages(node)
        const span = 2 ** (GROUP_LOG + 6 * (band + 1))
        expect(band).to.equal(Math.floor((level - GROUP_LOG) / 6))
        expect(slot).to.be.within(0, PAIRS - 1)
        if (span < 2 ** 53) expect((lastChunk + 1) % span).to.equal(0)
        expect(lastChunk).to.be.at.least(node)
        expect(lastChunk - node).to.be.at.most(span)
      }
    }
  })
})

describe('store: a page', () => {
  const pairs = noise(PAIRS * 64, 101)
  const pairOf = slot => pairs.subarray(slot * 64, slot * 64 + 64)

  it('comes back as it was stored', () => {
    for (const slots of [[], [0], [62], [0, 1, 2], [5, 3, 31], Array.from({ length: PAIRS }, (_, i) => i)]) {
      for (const groups of [[], [0], [63], [1, 8, 9, 62]]) {
        const page = new Page()
        for (const slot of slots) page.setPair(slot, pairs, slot * 64)
        for (const group of groups) page.addGroup(group)
        for (const back of [page, new Page(page.bytes), new Page(new Page(page.bytes).bytes)]) {
          for (let slot = 0; slot < PAIRS; slot++) {
            const pair = back.pair(slot)
            if (slots.includes(slot)) expect(same(pair, pairOf(slot)), `pair ${slot} of ${slots}`).to.equal(true)
            else expect(pair, `pair ${slot} of ${slots}`).to.equal(undefined)
          }
          for (let group = 0; group < PAGE_GROUPS; group++) {
            expect(back.hasGroup(group)).to.equal(groups.includes(group))
          }
        }
      }
    }
  })

  it('is cut off after its last pair', () => {
    const page = new Page()
    expect(page.bytes).to.have.length(8)
    expect(page.pair(3)).to.equal(undefined)
    page.setPair(4, pairs, 0)
    expect(page.bytes).to.have.length(8 + 5 * 64)
    page.setPair(2, pairs, 0)
    expect(page.bytes).to.have.length(8 + 5 * 64)
  })

  it('copies the stored bytes, so that pairs can be added', () => {
    const page = new Page()
    page.setPair(3, pairs, 0)
    const stored = new Uint8Array(page.bytes)
    const more = new Page(stored)
    more.setPair(40, pairs, 64)
    more.addGroup(7)
    expect(same(stored, page.bytes)).to.equal(true)
    expect(same(more.pair(3), pairOf(0))).to.equal(true)
    expect(same(more.pair(40), pairOf(1))).to.equal(true)
    expect(new Page(more.bytes).hasGroup(7)).to.equal(true)
  })

  it('reads stored bytes of any length', () => {
    for (const len of [0, 1, 7, 8, 9, 71, 72, 73, 8 + PAIRS * 64, 8 + PAIRS * 64 + 1, 10_000]) {
      const page = new Page(noise(len, 102))
      for (let slot = 0; slot < PAIRS; slot++) page.pair(slot)
      expect(page.bytes.length).to.be.at.most(8 + PAIRS * 64)
    }
  })

  it('is taken from an editor once everything below it is present', () => {
    const editor = new PageEditor(5)
    for (const { path } of paths(130)) for (const node of path) editor.setPair(node, pairs, 0)
    expect(editor.take(PAGE_GROUPS * 16 - 1), 'the first page ends with this very chunk').to.have.length(0)
    expect(editor.take(PAGE_GROUPS * 16)).to.have.length(1)
    expect(editor.take(PAGE_GROUPS * 16), 'once').to.have.length(0)
    expect(editor.take(), 'the second, the third, and the one above').to.have.length(3)
  })
})
