// The fuzzers, for a moment: cases that once found something, or a bug that was planted, and a few
// others. `npm run test:fuzz` looks longer.
import { expect } from 'chai'
import { readJson } from '#runtime'
import { header } from '../support/bytes.js'
import { atEffort } from '../support/effort.js'
import { Bao, Tree } from '../support/twin/index.js'
import { someCase } from './cases.js'
import { KERNELS, kernelOf, runCases, seedOf } from './engine.js'
import { lieAbout, responseOf } from './mutations.js'
import { decodeBy, oneByOne, placesOf, selectedSpans, toGroups, walkShape } from './oracle.js'
import { Random } from './random.js'
import { targets } from './targets/index.js'

/**
 * The bug that each seed of a target showed, planted or not. A seed stands for the same case as long as cases are drawn
 * in the same way: a change of that needs new seeds.
 */
const known = await readJson('fuzz/seeds.json')
const seedsOf = name => Object.keys(known[name] ?? {}).map(Number)
/** At least one, and four at EFFORT=1. */
const FEW = atEffort(4)

describe('fuzz: what is expected', () => {
  it('is what the twin\'s own decoder says', () => {
    for (let seed = 1; seed <= 120; seed++) {
      const random = new Random(seed)
      const truth = someCase(random, { which: 'small' })
      const lie = lieAbout(random, truth)
      if (lie.size > 200_000n || lie.key !== truth.blob.key) continue
      const response = responseOf(lie)
      const what = { root: lie.root, size: Number(lie.size), groupLog: lie.groupLog, mode: truth.blob.mode }
      const twin = Bao.decode(response, { ...what, boundaries: lie.boundaries })
      for (const places of [undefined, placesOf(truth.blob)]) {
        const due = decodeBy(
          { ...what, spans: selectedSpans(what.size, lie.boundaries), take: oneByOne(response), known: places }
        )
        expect(due.fault, `seed ${seed}`).to.deep.equal(twin.fault)
        expect(due.leaves, `seed ${seed}`).to.deep.equal(twin.leaves)
      }
    }
  })

  it('goes over the twin\'s walk', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const { blob: { bytes }, groupLog, boundaries } = someCase(new Random(seed), { which: 'small' })
      const spans = selectedSpans(bytes.length, boundaries)
      const met = []
      walkShape({ size: bytes.length, groupLog, spans }, item => { met.push(item) })
      const steps = Tree.steps(bytes.length, groupLog, boundaries).filter(({ kind }) => kind !== 'leave')
      expect(met.map(({ kind, start, end }) => [kind, start, end - start])).to.deep.equal(
        steps.map(({ kind, start, len }) => [kind === 'enter' ? 'parent' : kind, start, len])
      )
      met.forEach((item, i) => {
        if (item.isStored) {
          expect(
            [item.pre, item.post, item.node], `seed ${seed}`
          ).to.deep.equal([steps[i].pre, steps[i].post, steps[i].node])
        }
      })
      const chunks = [...Tree.selected(bytes.length, boundaries)]
      for (const [start, end] of toGroups(spans, bytes.length, groupLog)) {
        for (let chunk = start; chunk < end; chunk++) {
          expect(
            chunks.some(other => other >> groupLog === chunk >> groupLog)
          ).to.equal(true)
        }
      }
    }
  })

  it('is drawn anew from every seed, and the same from the same', () => {
    const drawn = seed => {
      const random = new Random(seed)
      return [random.next(), random.below(1000), ...random.bytes(4), random.claim(5000)]
    }
    expect(drawn(5)).to.deep.equal(drawn(5))
    expect(drawn(5)).to.not.deep.equal(drawn(6))
    expect(new Set(Array.from({ length: 1000 }, (_, i) => seedOf(1, i, 'simd'))).size).to.equal(1000)
    for (const kernel of KERNELS) expect(kernelOf(seedOf(9, 9, kernel))).to.equal(kernel)
    expect(header(2n ** 64n - 1n)).to.deep.equal(new Uint8Array(8).fill(255))
  })
})

describe('fuzz: known seeds, and a few more', () => {
  it(
    'are of targets that there are',
    () => expect(targets.map(({ name }) => name)).to.include.members(Object.keys(known))
  )

  for (const target of targets) {
    for (const kernel of KERNELS) {
      it(`${target.name}: ${target.about} (${kernel})`, async () => {
        const more = Array.from({ length: FEW }, (_, i) => seedOf(1, i, kernel))
        await runCases(target, kernel, [...seedsOf(target.name).filter(seed => kernelOf(seed) === kernel), ...more])
      })
    }
  }
})
