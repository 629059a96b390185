// All functions of the encoder take options in the same way, and name a blob in the same way.
import { expect } from 'chai'
import {
  Outboard, appendOutboard, createOutboard, createOutboardSync, createProof, createProofSync, encode, encodeSlice,
  encodeSliceSync, encodeStream, openEncoding, openOutboard, sliceLen, writeOutboard
} from '../../encoder/index.js'
import { hex } from '../support/bytes.js'
import { collect, errorOf } from '../support/feeding.js'
import { MemorySink } from '../support/sinks.js'
import { noise } from '../support/inputs.js'

const BYTES = noise(70_000, 71)
const outboard = createOutboardSync(BYTES, { order: 'post' })
const encoded = encode(BYTES).bytes
const RANGES = { start: 0, end: 10 }

/** A call with options of every public function that takes them. */
const CALLS = {
  createOutboard: options => createOutboard(BYTES, options),
  createOutboardSync: options => createOutboardSync(BYTES, options),
  appendOutboard: options => appendOutboard(BYTES, outboard, options),
  writeOutboard: options => writeOutboard(BYTES, new MemorySink(), options),
  'the `append` of writeOutboard': info => writeOutboard(BYTES, new MemorySink(), { append: { ...outboard, ...info } }),
  openOutboard: info => openOutboard(outboard.bytes, { ...outboard, cid: outboard.root, ...info }),
  'Outboard.from': parts => Outboard.from({ ...outboard, cid: outboard.root, ...parts }),
  openEncoding: info => openEncoding(encoded, { cid: outboard.root, ...info }),
  encode: options => encode(BYTES, options),
  encodeStream: options => collect(encodeStream(BYTES, outboard, options)),
  encodeSlice: options => collect(encodeSlice(BYTES, outboard, RANGES, options)),
  encodeSliceSync: options => encodeSliceSync(BYTES, outboard, RANGES, options),
  sliceLen: options => sliceLen(outboard, RANGES, options),
  createProof: options => createProof(BYTES, outboard, RANGES, options),
  createProofSync: options => createProofSync(BYTES, outboard, RANGES, options)
}

describe('the options of the encoder', () => {
  for (const [name, call] of Object.entries(CALLS)) {
    it(`${name} refuses an option that it does not know, and names it`, async () => {
      for (const option of ['grouplog', 'hasHeader']) {
        const error = await errorOf(() => call({ [option]: undefined }))
        expect(error, option).to.be.instanceOf(TypeError)
        expect(error.message).to.include(`"${option}"`)
      }
    })
  }
})

describe('the name of a blob in options of the encoder', () => {
  const openers = {
    openOutboard: name => openOutboard(outboard.bytes, { size: outboard.size, order: 'post', ...name }),
    openEncoding: async name => (await openEncoding(encoded, name)).outboard,
    'Outboard.from': name => Outboard.from({ size: outboard.size, order: 'post', bytes: outboard.bytes, ...name })
  }
  const { root, cid } = outboard
  for (const [name, open] of Object.entries(openers)) {
    it(`${name} takes it as \`cid\`, in any form`, async () => {
      for (const given of [cid, root, `${cid}`, hex(root)]) {
        expect(
          (await open({ cid: given })).root
        ).to.deep.equal(root)
      }
    })

    it(`${name} refuses options without it, and names it`, async () => {
      for (const given of [{}, { root }]) {
        const error = await errorOf(() => open(given))
        expect(error).to.be.instanceOf(TypeError)
        expect(error.message).to.match(/"cid"|"root"/)
      }
    })
  }

  it('openOutboard refuses an outboard of which nothing is known', async () => {
    for (const info of [undefined, null, 5, root]) {
      const { message } = await errorOf(() => openOutboard(outboard.bytes, info))
      expect(message).to.match(/^"info" expected \{ cid, size, \.\.\. \}, got /)
    }
  })

  it('writeOutboard returns it as `root` and `cid`, and takes the `cid` of `append` in any form', async () => {
    const options = { order: 'post' }
    for (const name of [{ cid: outboard.root }, { cid: `${outboard.cid}` }]) {
      const sink = new MemorySink()
      const info = await writeOutboard(BYTES, sink, options)
      expect(info.root).to.deep.equal(outboard.root)
      expect(info.cid.equals(outboard.cid)).to.equal(true)
      const { cid, ...kept } = info
      const longer = noise(90_000, 71)
      longer.set(BYTES)
      const grown = await writeOutboard(longer, sink, { append: { ...kept, ...name } })
      expect(grown.cid.equals(createOutboardSync(longer).cid)).to.equal(true)
    }
  })
})
