import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import { base16 } from 'multiformats/bases/base16'
import { base36 } from 'multiformats/bases/base36'
import { base58btc } from 'multiformats/bases/base58'
import * as Digest from 'multiformats/hashes/digest'
import { HASHSEQ, RAW, blake3, fromCid, hash, parseRoot, toCid } from '../../../lib/index.js'
import { concat, hex } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { input } from '../../support/inputs.js'

const BYTES = input({ gen: 'b3', len: 5000 })
const ROOT = hash(BYTES)

describe('CIDs', () => {
  it('have the bytes of their specification', () => {
    // version 1, codec, BLAKE3 (0x1e), 32 bytes; 0x80 takes two bytes as a varint.
    expect(hex(toCid(ROOT).bytes)).to.equal(`01551e20${hex(ROOT)}`)
    expect(hex(toCid(ROOT, HASHSEQ).bytes)).to.equal(`0180011e20${hex(ROOT)}`)
    expect([RAW, HASHSEQ]).to.deep.equal([0x55, 0x80])
  })

  it('give the hash, in every form', () => {
    const cid = toCid(ROOT)
    const texts = [cid.toString(), cid.toString(base16), cid.toString(base36), cid.toString(base58btc)]
    for (const form of [cid, ...texts, cid.bytes, CID.parse(cid.toString())]) {
      expect(hex(fromCid(form))).to.equal(hex(ROOT))
      expect(hex(parseRoot(form))).to.equal(hex(ROOT))
    }
    for (const form of [ROOT, hex(ROOT), hex(ROOT).toUpperCase()]) expect(hex(parseRoot(form))).to.equal(hex(ROOT))
  })

  it('give copies, not their own memory', () => {
    const lent = ROOT.slice()
    const cid = toCid(lent)
    lent.fill(0)
    fromCid(cid).fill(0)
    expect(hex(fromCid(cid))).to.equal(hex(ROOT))
    expect(parseRoot(ROOT)).to.not.equal(ROOT)
  })

  it('come from the hasher of multiformats', async () => {
    expect(blake3).to.include({ name: 'blake3', code: 0x1e })
    const digest = await blake3.digest(BYTES)
    expect(hex(digest.digest)).to.equal(hex(ROOT))
    expect(hex(digest.bytes)).to.equal(`1e20${hex(ROOT)}`)
    expect(hex(await blake3.encode(BYTES))).to.equal(hex(ROOT))
    expect(CID.createV1(RAW, digest).toString()).to.equal(toCid(ROOT).toString())
  })

  it('of great length are refused without being decoded', async () => {
    // In base 58 and 36 this would take minutes.
    for (const base of 'zkbf') {
      const error = await errorOf(() => parseRoot(base + '1a2b3c4d'.repeat(20_000)))
      expect(error).to.include({ code: 'CID_UNSUPPORTED' })
      expect(error.message).to.include('a CID has at most')
    }
  })

  it('that are invalid are shortened in the error', async () => {
    const error = await errorOf(() => fromCid('b'.repeat(1_000_000)))
    expect(error).to.include({ code: 'CID_UNSUPPORTED' })
    expect(error.message).to.match(/^b{100}\.\.\.: /)
    expect(error.message.length).to.be.lessThan(200)
  })

  it('of other hashes are refused, with a code', async () => {
    const others = [
      CID.createV1(RAW, Digest.create(0x12, ROOT)),
      CID.createV0(Digest.create(0x12, ROOT)),
      CID.createV1(RAW, Digest.create(0x1e, ROOT.subarray(0, 20))),
      CID.createV1(RAW, Digest.create(0x1e, concat([ROOT, ROOT])))
    ]
    const expectUnsupported = async (call, form) =>
      expect(await errorOf(call), String(form)).to.include({ code: 'CID_UNSUPPORTED' })
    for (const cid of others) {
      for (const form of [cid, cid.toString(), cid.bytes]) await expectUnsupported(() => fromCid(form), form)
    }
    for (const text of ['', 'z', hex(ROOT).slice(2), `${toCid(ROOT)}x`, 'bafy']) {
      await expectUnsupported(() => parseRoot(text), text)
    }
  })
})
