// A collection in memory has the bytes that iroh writes. Other bytes are refused.
import { expect } from 'chai'
import fc from 'fast-check'
import { CID } from 'multiformats/cid'
import { fromCid, hash, toCid } from '../../../lib/index.js'
import { Collection } from '../../../exchange/collections/index.js'
import { LikeBuffer, concat, flipped, hex, same, unhex } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { holds } from '../../support/property.js'
import { expectSlip } from '../../support/slips.js'
import { irohVectors } from '../../support/vectors.js'

const { collection: vector, empty_collection: emptyVector } = irohVectors
const HEAD = new TextEncoder().encode('CollectionV0.')
const entriesOf = ({ names, hashes }) => names.map((name, i) => [name, hashes[i]])
/** As values that chai can compare. */
const shown = entries => [...entries].map(([name, cid]) => [name, hex(fromCid(cid))])

/** A sequence of `count` members over any meta blob. */
const over = (meta, count) => ({ sequence: concat([hash(meta), new Uint8Array(32 * count)]), meta })
/** The error of a meta blob for a sequence of `count` members. */
const faultOf = (parts, count) => errorOf(() => Collection.fromBytes(over(concat(parts), count)))

const entries = fc.array(fc.tuple(
  fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('', 'a/b', '../x', '\ufeffmark', 'x'.repeat(200))),
  fc.uint8Array({ minLength: 32, maxLength: 32 })
), { maxLength: 20 })

describe('Collection', () => {
  it('has the bytes and the CID that iroh writes', () => {
    const collection = Collection.from(entriesOf(vector))
    const { sequence, meta } = collection.toBytes()
    expect(hex(meta)).to.equal(vector.meta_hex)
    expect(hex(sequence)).to.equal(vector.root_hex)
    expect(hex(hash(meta))).to.equal(vector.meta_hash)
    expect(hex(fromCid(collection.cid))).to.equal(vector.root_hash)
    expect(collection.cid.code).to.equal(0x80)
  })

  it('has the bytes and the CID that iroh writes when it is empty', () => {
    const collection = Collection.from([])
    const { sequence, meta } = collection.toBytes()
    expect(hex(meta)).to.equal(emptyVector.meta_hex)
    expect(hex(sequence)).to.equal(emptyVector.root_hex)
    expect(hex(fromCid(collection.cid))).to.equal(emptyVector.root_hash)
    expect(collection.length).to.equal(0)
  })

  it('reads what iroh writes', () => {
    const collection = Collection.fromBytes({ sequence: unhex(vector.root_hex), meta: unhex(vector.meta_hex) })
    expect(shown(collection)).to.deep.equal(entriesOf(vector))
    expect(collection).to.have.length(vector.names.length)
    const empty = Collection.fromBytes({ sequence: unhex(emptyVector.root_hex), meta: unhex(emptyVector.meta_hex) })
    expect([...empty]).to.deep.equal([])
  })

  it('takes names in every form, and gives raw CIDs', () => {
    const root = hash(noise(10))
    for (const name of [root, hex(root), toCid(root), toCid(root).toString(), toCid(root, 0x80)]) {
      const [[, cid]] = Collection.from([['a', name]])
      expect(cid).to.be.instanceOf(CID)
      expect(cid.toString()).to.equal(toCid(root).toString())
    }
  })

  it('get() finds the first entry that has a name', () => {
    const [a, b, c] = [1, 2, 3].map(seed => hash(noise(10, seed)))
    const collection = Collection.from([['x', a], ['', b], ['x', c], ['constructor', c]])
    expect(collection.get('x').toString()).to.equal(toCid(a).toString())
    expect(collection.get('').toString()).to.equal(toCid(b).toString())
    expect(collection.get('constructor').toString()).to.equal(toCid(c).toString())
    for (const name of ['y', 'X', 'toString']) expect(collection.get(name)).to.equal(undefined)
  })

  it('keeps entries in their order, and copies hashes and arrays', () => {
    const root = hash(noise(10))
    const given = [['b', root], ['a', root]]
    const collection = Collection.from(given)
    const expected = hex(root)
    root.fill(0)
    given.length = 0
    expect(shown(collection.entries())).to.deep.equal([['b', expected], ['a', expected]])
    expect([...collection.names()]).to.deep.equal(['b', 'a'])
  })

  it('keeps no bytes that it is read from, even those of a Buffer, whose slice() is no copy', () => {
    const collection = Collection.from([['a', hash(noise(1))]])
    const { sequence, meta } = collection.toBytes()
    const buffer = new LikeBuffer(sequence)
    const again = Collection.fromBytes({ sequence: buffer, meta })
    buffer.fill(0)
    expect(shown(again)).to.deep.equal(shown(collection))
  })

  it('keeps any text, and gives the same bytes when it is read and written again', () => holds('collection round trip',
    fc.property(entries, entries => {
      const bytes = Collection.from(entries).toBytes()
      const again = Collection.fromBytes(bytes)
      expect(shown(again)).to.deep.equal(entries.map(([name, root]) => [name, hex(root)]))
      expect(same(again.toBytes().meta, bytes.meta)).to.equal(true)
      expect(same(again.toBytes().sequence, bytes.sequence)).to.equal(true)
    })))

  it('reads changed bytes as another collection, or not at all', () => holds('collection changed',
    fc.property(entries, fc.nat(), fc.integer({ min: 1, max: 255 }), fc.constantFrom('flip', 'cut', 'add'),
      (entries, place, xor, how) => {
        const { sequence, meta } = Collection.from(entries).toBytes()
        const at = place % meta.length
        const changed = {
          flip: () => flipped(meta, at, xor),
          cut: () => meta.slice(0, at),
          add: () => concat([meta.slice(0, at), Uint8Array.of(xor), meta.slice(at)])
        }[how]()
        const blobs = { sequence: concat([hash(changed), sequence.slice(32)]), meta: changed }
        let collection
        try {
          collection = Collection.fromBytes(blobs)
        } catch (error) {
          expect(error.code, error.stack).to.equal('COLLECTION_INVALID')
          return
        }
        // Different bytes never mean the same collection.
        expect(same(collection.toBytes().meta, changed)).to.equal(true)
        expect(collection.cid.toString()).to.not.equal(Collection.from(entries).cid.toString())
      })))

  describe('refuses', () => {
    const refusals = {
      'a sequence that ends inside a hash': () => errorOf(() => Collection.fromBytes({
        sequence: unhex(vector.root_hex).subarray(1), meta: unhex(vector.meta_hex)
      })),
      'a sequence without a meta blob': () => errorOf(() => Collection.fromBytes({
        sequence: new Uint8Array(0), meta: unhex(vector.meta_hex)
      })),
      'a meta blob that the sequence does not name': () => errorOf(() => Collection.fromBytes({
        sequence: unhex(vector.root_hex), meta: unhex(emptyVector.meta_hex)
      })),
      'an empty meta blob': () => faultOf([], 0),
      'another version': () => faultOf([new TextEncoder().encode('CollectionV1.'), [0]], 0),
      'a header that is cut off': () => faultOf([HEAD.subarray(0, 5)], 0),
      'a header without a count': () => faultOf([HEAD], 0),
      'more names than members': () => faultOf([HEAD, [2, 1, 97, 1, 98]], 1),
      'fewer names than members': () => faultOf([HEAD, [1, 1, 97]], 2),
      'fewer names than it claims': () => faultOf([HEAD, [2, 1, 97]], 2),
      'bytes after the last name': () => faultOf([HEAD, [1, 1, 97, 0]], 1),
      'bytes after a count of 0': () => faultOf([HEAD, [0, 0]], 0),
      'a name that is cut off': () => faultOf([HEAD, [1, 3, 97, 98]], 1),
      'a name that is not UTF-8': () => faultOf([HEAD, [1, 2, 0xc3, 0x28]], 1),
      'a name with half a surrogate pair': () => faultOf([HEAD, [1, 3, 0xed, 0xa0, 0x80]], 1),
      'a count in more bytes than it needs': () => faultOf([HEAD, [0x81, 0, 1, 97]], 1),
      'a length in more bytes than it needs': () => faultOf([HEAD, [1, 0x81, 0, 97]], 1),
      'a count above 2^53': () => faultOf([HEAD, new Uint8Array(9).fill(0xff), [1]], 1),
      'a count that never ends': () => faultOf([HEAD, new Uint8Array(100).fill(0x80)], 1),
      'a length above 65 536': () => faultOf([HEAD, [1, 0x81, 0x80, 4], new Uint8Array(65_537)], 1),
      'a length that never ends': () => faultOf([HEAD, [1], new Uint8Array(100).fill(0x80)], 1)
    }
    for (const [what, refusal] of Object.entries(refusals)) {
      it(what, async () => expect(await refusal()).to.include({ code: 'COLLECTION_INVALID' }))
    }

    it('names longer than 65 536 bytes, but not shorter ones', async () => {
      const root = hash(noise(10))
      const longest = 'é'.repeat(32_768)
      const { sequence, meta } = Collection.from([[longest, root]]).toBytes()
      expect(Collection.fromBytes({ sequence, meta }).get(longest)).to.not.equal(undefined)
      await expectSlip('name', () => Collection.from([[`${longest}x`, root]]), [RangeError])
    })

    it('invalid entries', async () => {
      const root = hash(noise(10))
      for (const bad of [undefined, null, 5, 'ab', {}, root]) {
        await expectSlip('entries', () => Collection.from(bad), [TypeError])
      }
      for (const bad of [undefined, 'ab', { name: 'a', cid: root }]) {
        await expectSlip('entries', () => Collection.from([bad]), [TypeError])
      }
      for (const bad of [undefined, 5, root]) {
        await expectSlip('name', () => Collection.from([[bad, root]]), [TypeError])
      }
      await expectSlip('name', () => Collection.from([['\ud800', root]]), [RangeError])
      await expectSlip('cid', () => Collection.from([['a', 5]]), [TypeError])
      expect(await errorOf(() => Collection.from([['a', 'no CID']]))).to.include({ code: 'CID_UNSUPPORTED' })
    })
  })
})
