// Tags are names of blobs. The index keeps each twice, under its name and in the order of the blobs.
import { expect } from 'chai'
import { compare } from 'uint8arrays/compare'
import { HASHSEQ, RAW, hash, toCid } from '../../../../lib/index.js'
import { hex } from '../../../support/bytes.js'
import { someOf } from '../../../support/effort.js'
import { errorOf, listed, stream } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { expectSlip } from '../../../support/slips.js'
import { clearTags, tagOfBlobEntry, tagEntry } from '../../../support/store/inspect.js'
import { forEachPlace, newStores, sliceOf, tagNamesIn } from '../../../support/store/stores.js'

const first = hash(Uint8Array.of(1))
const second = hash(Uint8Array.of(2))

function compareNames (...names) { return compare(...names.map(name => new TextEncoder().encode(name))) }

/** In the order of their UTF-8. In UTF-16, U+FFFF would come last, after the two names with surrogate pairs. */
const NAMES = [
  ' ', 'A', 'a', 'a/b', 'a/b/c', 'a0', 'aé', '\0', '\n', '\uFEFFmark', '名前', '\uFFFF', '😀', '\u{10FFFF}'
]
  .sort(compareNames)

/** Reads the tags as gc does, which refuses when the two entries of a tag do not agree. */
const expectSound = async store => expect(await errorOf(store.gc({ dryRun: true }))).to.equal(undefined)

describe('store: tags', () => {
  forEachPlace(newPlace => {
    let place
    let store
    beforeEach(async () => {
      place = await newPlace()
      store = await place.open()
    })

    it('set(), get() and delete() work, and tags are there after the store was opened again', async () => {
      expect(await store.tags.get('a')).to.equal(undefined)
      await store.tags.set('a', first)
      await store.tags.set('b', toCid(second), { format: 'hashseq' })
      await store.close()
      store = await place.open()
      expect(await store.tags.get('a')).to.deep.equal({ name: 'a', cid: toCid(first, RAW), format: 'raw' })
      expect(await store.tags.get('b')).to.deep.equal({ name: 'b', cid: toCid(second, HASHSEQ), format: 'hashseq' })
      await store.tags.set('a', second)
      expect((await store.tags.get('a')).cid.toString()).to.equal(toCid(second).toString())
      await expectSound(store)
      expect(await store.tags.delete('a')).to.equal(true)
      expect(await store.tags.delete('a')).to.equal(false)
      expect(await store.tags.get('a')).to.equal(undefined)
      expect(await tagNamesIn(store)).to.deep.equal(['b'])
      await expectSound(store)
    })

    it('delete() with a condition deletes the tag only if it is true', async () => {
      const { cid } = await store.put(new Uint8Array(9))
      const onlyIf = ({ meta }) => meta === 'mine'
      await store.tags.set('a', cid, { meta: 'yours' })
      expect(await store.tags.delete('a', { onlyIf })).to.equal(false)
      expect(await store.tags.delete('b', { onlyIf })).to.equal(false)
      await store.tags.set('a', cid, { meta: 'mine' })
      expect(await store.tags.delete('a', { onlyIf })).to.equal(true)
      expect(await store.tags.get('a')).to.equal(undefined)
    })

    it('set() takes any name of a blob, and takes the format from its codec by default', async () => {
      for (const [name, format] of [
        [first, 'raw'], [hex(first), 'raw'], [toCid(first), 'raw'],
        [toCid(first, HASHSEQ), 'hashseq'], [toCid(first, HASHSEQ).toString(), 'hashseq'],
        [toCid(first, HASHSEQ).bytes, 'hashseq'], [toCid(first, 0x71), 'raw']
      ]) {
        await store.tags.set('a', name)
        expect((await store.tags.get('a')).format, `${name}`).to.equal(format)
        await store.tags.set('a', name, { format: 'raw' })
        expect((await store.tags.get('a')).format, `${name}`).to.equal('raw')
      }
    })

    it('set() takes any text as a name, and list() sorts names by their UTF-8', async () => {
      for (const name of [...NAMES].reverse()) await store.tags.set(name, first)
      expect(await tagNamesIn(store)).to.deep.equal(NAMES)
      for (const name of NAMES) expect(await store.tags.get(name)).to.include({ name })
      await expectSound(store)
      for (const name of NAMES) expect(await store.tags.delete(name), JSON.stringify(name)).to.equal(true)
      expect(await tagNamesIn(store)).to.deep.equal([])
    })

    it('list() takes a prefix of names, and a name to begin after', async () => {
      for (const name of NAMES) await store.tags.set(name, first)
      for (const prefix of ['', 'a', 'a/', 'a/b', 'a/b/c', 'a/b/c/d', '😀', '\u{10FFFF}', 'é']) {
        const named = NAMES.filter(name => name.startsWith(prefix))
        expect(await tagNamesIn(store, { prefix }), prefix).to.deep.equal(named)
        for (const after of ['!', 'a/b/', 'b', '\u{10FFFF}', ...NAMES]) {
          const rest = named.filter(name => compareNames(name, after) > 0)
          expect(await tagNamesIn(store, { prefix, after }), `${prefix} after ${after}`).to.deep.equal(rest)
        }
      }
    })

    it('rename() moves a tag in one step, and may replace another tag', async () => {
      await store.tags.set('a', first, { format: 'hashseq' })
      await store.tags.set('b', second)
      await store.tags.rename('a', 'b')
      expect(await listed(store.tags.list()))
        .to.deep.equal([{ name: 'b', cid: toCid(first, HASHSEQ), format: 'hashseq' }])
      await store.tags.rename('b', 'b')
      expect(await tagNamesIn(store)).to.deep.equal(['b'])
      expect(await errorOf(store.tags.rename('a', 'c'))).to.include({ code: 'STORE_TAG_NOT_FOUND', tag: 'a' })
      expect(await tagNamesIn(store)).to.deep.equal(['b'])
      await expectSound(store)
    })

    it('store.delete() refuses a tagged blob, unless it is forced', async () => {
      const { cid } = await store.put(Uint8Array.of(1))
      await store.tags.set('b', cid)
      await store.tags.set('a', cid)
      const error = await errorOf(store.delete(cid))
      expect(error).to.include({ code: 'STORE_TAGGED', tag: 'a' })
      expect(error.cid.toString()).to.equal(cid.toString())
      await store.tags.delete('a')
      expect(await errorOf(store.delete(cid))).to.include({ code: 'STORE_TAGGED', tag: 'b' })
      expect(await store.delete(cid, { force: true })).to.include({ blobs: 1 })
      expect(await store.has(cid)).to.equal(false)
      expect((await store.tags.get('b')).cid.toString(), 'the tag stays').to.equal(cid.toString())
      const temporary = store.tempTag(cid)
      await store.put(Uint8Array.of(1))
      await store.tags.delete('b')
      const untitled = await errorOf(store.delete(cid))
      expect(untitled).to.include({ code: 'STORE_TAGGED' })
      expect(untitled).to.not.have.property('tag')
      temporary.release()
      expect(await store.delete(cid)).to.include({ blobs: 1 })
    })

    it('put() with a tag writes blob and tag together', async () => {
      for (const bytes of [new Uint8Array(0), Uint8Array.of(1), noise(100_000), noise(5_000_000)]) {
        const name = `of ${bytes.length} bytes`
        const { cid } = await store.put(stream([bytes]), { tag: name })
        expect(await store.tags.get(name)).to.deep.equal({ name, cid, format: 'raw' })
        await store.put(bytes, { tag: 'again', format: 'hashseq' })
        expect(await store.tags.get('again'))
          .to.deep.equal({ name: 'again', cid: toCid(hash(bytes), HASHSEQ), format: 'hashseq' })
      }
      const part = noise(100_000, 2)
      await store.receive(hash(part), sliceOf(part, { start: 0, end: 1 }), { start: 0, end: 1 })
      await store.put(part, { tag: 'again' })
      expect((await store.tags.get('again')).cid.toString()).to.equal(toCid(hash(part)).toString())
      await expectSound(store)
    })

    it('concurrent calls of set() with the same names leave each tag with one of the values', async () => {
      const names = ['a', 'b', 'c']
      const calls = Array.from({ length: 60 }, (_, i) => {
        const [name, other] = [names[i % 3], names[(i + 1 + i % 2) % 3]]
        if (i % 7 === 0) return store.tags.delete(name)
        if (i % 5 === 0) {
          return store.tags.rename(name, other).catch(
            error => expect(error).to.include({ code: 'STORE_TAG_NOT_FOUND' })
          )
        }
        if (i % 4 === 0) return store.put(Uint8Array.of(i), { tag: name })
        return store.tags.set(name, hash(Uint8Array.of(i)), { format: i % 2 ? 'raw' : 'hashseq' })
      })
      await Promise.all(calls)
      await expectSound(store)
    })
  })

  describe('with wrong arguments', () => {
    const newStore = newStores()

    it('put() refuses wrong tags before it reads its source', async () => {
      const { store } = await newStore()
      const source = (async function * () { throw new Error('was read') })()
      for (const bad of [5, null, {}, '', '\uD800', 'a\uDC00', Uint8Array.of(65)]) {
        await expectSlip('name', () => store.tags.set(bad, first))
        await expectSlip('name', () => store.tags.get(bad))
        await expectSlip('name', () => store.tags.delete(bad))
        await expectSlip('from', () => store.tags.rename(bad, 'a'))
        await expectSlip('to', () => store.tags.rename('a', bad))
        await expectSlip('tag', () => store.put(source, { tag: bad }))
      }
      for (const bad of ['RAW', '', 5, null, 'hashSeq']) {
        await expectSlip('format', () => store.tags.set('a', first, { format: bad }))
        await expectSlip('format', () => store.put(source, { tag: 'a', format: bad }))
        await expectSlip('format', () => store.tempTag(first, { format: bad }))
      }
      for (const bad of [5, null, '\uD800']) await expectSlip('prefix', () => listed(store.tags.list({ prefix: bad })))
      for (const bad of [5, null, '\uD800', '']) {
        await expectSlip('after', () => listed(store.tags.list({ after: bad })))
      }
      expect(await errorOf(store.tags.set('a', 'b'))).to.include({ code: 'CID_UNSUPPORTED' })
      await expectSlip('cid', () => store.tags.set('a', 5))
      expect(await tagNamesIn(store)).to.deep.equal([])
    })

    it('put() that fails leaves no tag', async () => {
      const { store, index, data } = await newStore()
      const reason = new Error('no more')
      expect(await errorOf(store.put((async function * () { yield noise(100); throw reason })(), { tag: 'a' })))
        .to.equal(reason)
      for (const database of [index, data]) {
        const { batch } = database
        database.batch = async () => { throw reason }
        expect(await errorOf(store.put(noise(100), { tag: 'a' }))).to.equal(reason)
        database.batch = batch
      }
      expect(await tagNamesIn(store)).to.deep.equal([])
      expect(await listed(store.list())).to.have.length(0)
    })
  })

  describe('that are temporary', () => {
    const newStore = newStores()

    it('tempTag() protects until it is released, or its scope ends', async () => {
      const { store } = await newStore()
      const { cid } = await store.put(Uint8Array.of(1))
      const { cid: other } = await store.put(Uint8Array.of(2))
      for (const release of [tag => tag.release(), tag => tag[Symbol.dispose](), tag => tag[Symbol.asyncDispose]()]) {
        const tags = [store.tempTag(cid), store.tempTag(cid), store.tempTag()]
        tags[2].add(other)
        tags[2].add(cid)
        for (const tag of tags) {
          expect(await errorOf(store.delete(cid))).to.include({ code: 'STORE_TAGGED' })
          await release(tag)
          await release(tag) // may be called twice
        }
        for (const name of [cid, other]) {
          expect(await store.delete(name)).to.include({ blobs: 1 })
        }
        await store.put(Uint8Array.of(1))
        await store.put(Uint8Array.of(2))
      }
    })

    it('put() refuses temporary tags of another store, and released ones', async () => {
      const { store } = await newStore()
      const { store: other } = await newStore()
      const tag = store.tempTag()
      await expectSlip('tag', () => other.put(Uint8Array.of(1), { tag }))
      tag.release()
      await expectSlip('tag', () => tag.add(first))
      await expectSlip('tag', () => store.put(Uint8Array.of(1), { tag }))
      await store.close()
      expect(await errorOf(() => store.tempTag(first))).to.include({ code: 'STORE_CLOSED' })
    })
  })

  describe('that are damaged', () => {
    const newStore = newStores()
    const setAll = async store => { for (const name of ['a', 'b', 'c']) await store.tags.set(name, first) }

    it('every call names a damaged tag, which can be set again or deleted', async () => {
      const { store, index } = await newStore()
      for (const [i, bit] of someOf(Array.from({ length: 51 * 8 }, (_, bit) => bit)).entries()) {
        await setAll(store)
        const value = await tagEntry(index, 'b').read()
        expect(value).to.have.length(51)
        value[bit >> 3] ^= 1 << (bit & 7)
        await tagEntry(index, 'b').write(value)
        expect(await errorOf(store.tags.get('b'))).to.include({ code: 'STORE_CORRUPT', tag: 'b' })
        expect(await errorOf(store.tags.rename('b', 'd'))).to.include({ code: 'STORE_CORRUPT', tag: 'b' })
        expect(await errorOf(store.gc()), `bit ${bit}`).to.include({ code: 'STORE_CORRUPT', tag: 'b' })
        const names = []
        const error = await errorOf(async () => { for await (const { name } of store.tags.list()) names.push(name) })
        expect(error).to.include({ code: 'STORE_CORRUPT', tag: 'b' })
        expect(names, 'the others are given').to.deep.equal(['a', 'c'])
        if (i % 2) await store.tags.set('b', second)
        else await store.tags.delete('b')
        await expectSound(store)
      }
    })

    it('gc() deletes nothing while one of the entries of a tag is damaged', async () => {
      const { store, index } = await newStore()
      const { cid } = await store.put(Uint8Array.of(9))
      const beside = tagOfBlobEntry(index, first, 'b')
      for (const [what, spoil] of Object.entries({
        'the value is wrong': () => beside.change(value => flippedAt(value, 4)),
        'the value is cut': () => beside.write(new Uint8Array(3)),
        'the value is empty': () => beside.write(new Uint8Array(0)),
        'the key names another blob': async () => {
          await tagOfBlobEntry(index, second, 'b').write(await beside.read())
          await beside.remove()
        },
        'it is not in the order of the blobs': () => beside.remove(),
        'it is not under its name': () => tagEntry(index, 'b').remove()
      })) {
        await setAll(store)
        await spoil()
        expect(await errorOf(store.gc()), what).to.include({ name: 'BaoError', code: 'STORE_CORRUPT' })
        expect(await store.has(cid), what).to.equal(true)
        await clearTags(index)
      }
    })
  })
})

const flippedAt = (bytes, i) => bytes.map((byte, at) => at === i ? byte ^ 1 : byte)
