// Slices of blobs in files: present groups can be read, whatever interrupts the receive.
import { readdir, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../../lib/index.js'
import { same } from '../../../support/bytes.js'
import { GROUP, MIB } from '../../../support/constants.js'
import { collect, errorOf, ragged, stream } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { expectNoOrphans, gated, onDisk, sliceOf } from '../../../support/store/stores.js'

const bytes = noise(9 * MIB + 777, 700)
const root = hash(bytes)
const slice = sliceOf(bytes)

/** Expects that the present groups can be read and sent, and are right. */
async function expectReadable (store) {
  const { present, size } = await store.stat(root)
  expect(size).to.equal(bytes.length)
  for (const { start, end } of present.toBytes(size)) {
    expect(same(await store.bytes(root, { start, end }), bytes.subarray(start, end)), `${start} to ${end}`)
      .to.equal(true)
  }
  expect(same(await collect(store.slice(root, present)), sliceOf(bytes, present))).to.equal(true)
  return present
}

describe('store: receive() of parts into a file', () => {
  let place, store
  beforeEach(async () => {
    place = await onDisk()
    store = await place.open()
  })
  afterEach(() => place.remove())

  const files = () => readdir(join(place.where, 'blobs'))

  it('completes a file from several senders at the same time, in any order, without moving it', async () => {
    const parts = [[5, 9], [0, 3], [2, 6], [8, 10], [0, 1]].map(([start, end]) => ({
      start: start * MIB,
      end: Math.min(end * MIB, bytes.length)
    }))
    const results = await Promise.all(
      parts.map((range, i) => store.receive(root, stream(ragged(sliceOf(bytes, range), i + 1)), range))
    )
    expect(results.reduce((sum, { received }) => sum + received, 0), 'each byte counts once').to.equal(bytes.length)
    expect(results.some(({ complete }) => complete)).to.equal(true)
    expect(await files()).to.have.length(1)
    expect(await store.stat(root)).to.include({ complete: true, sizeProven: true })
    expect(same(await store.bytes(root), bytes)).to.equal(true)
    await store.close()
    await expectNoOrphans(place)
  })

  it('keeps parts when the rest fails, and when the store is opened again', async () => {
    const range = { start: 3 * MIB, end: 7 * MIB }
    const part = sliceOf(bytes, range)
    expect(await errorOf(store.receive(root, part.subarray(0, part.length - 5), range)))
      .to.include({ code: 'BAO_TRUNCATED' })
    const present = await expectReadable(store)
    expect(present.boundaries).to.deep.equal([3 * 1024, 7 * 1024 - 16])
    await store.close()
    store = await place.open()
    expect((await expectReadable(store)).equals(present)).to.equal(true)
    const missing = await store.missing(root)
    const { received, complete } = await store.receive(root, sliceOf(bytes, missing), missing)
    expect({ received, complete }).to.deep.equal({ received: bytes.length - 4 * MIB + GROUP, complete: true })
    expect(same(await store.bytes(root), bytes)).to.equal(true)
  })

  for (const [what, change, isWhole] of [
    ['deleted', () => store.delete(root), false],
    ['deleted, and received in part by another call', async () => {
      await store.delete(root)
      await store.receive(root, sliceOf(bytes, { start: 0, end: MIB }), { start: 0, end: MIB })
    }, false],
    ['put', () => store.put(bytes), true]
  ]) {
    it(`goes on when the blob is ${what} in the middle`, async () => {
      for (const durability of ['process', 'sync']) {
        await store.close()
        store = await place.open({ durability })
        await store.receive(root, sliceOf(bytes, { start: 0, end: MIB }), { start: 0, end: MIB })
        const gate = gated([slice.subarray(0, 6 * MIB)], [slice.subarray(6 * MIB)])
        const receiving = store.receive(root, gate.source)
        await gate.reached
        await change()
        gate.open()
        const { complete } = await receiving
        const present = await expectReadable(store)
        expect(complete).to.equal(isWhole)
        expect(present.contains(8 * 1024, 9 * 1024), 'later groups').to.equal(true)
        expect(await files(), 'no file is left').to.have.length(1)
        const missing = await store.missing(root)
        if (!missing.isEmpty) {
          expect((await store.receive(root, sliceOf(bytes, missing), missing)).complete).to.equal(true)
        }
        expect(same(await store.bytes(root), bytes)).to.equal(true)
        await store.delete(root)
      }
      await store.close()
      await expectNoOrphans(place)
    })
  }

  it('records its progress every 16 MiB, once the bytes are on the disk', async () => {
    const long = noise(40 * MIB, 701)
    const name = hash(long)
    const sent = sliceOf(long)
    const gate = gated([sent.subarray(0, 20 * MIB), sent.subarray(20 * MIB, 38 * MIB)], [sent.subarray(38 * MIB)])
    const receiving = store.receive(name, gate.source)
    const seen = []
    for await (const { present } of store.observe(name)) {
      seen.push(present)
      if (present.contains(0, 20 * 1024)) break // fewer than 16 of the 38 MiB may wait to be recorded
    }
    gate.open()
    expect(await receiving).to.deep.equal({ received: long.length, complete: true })
    for (const present of seen) {
      expect(present.difference(ChunkRanges.all.canonical(long.length)).isEmpty).to.equal(true)
    }
    expect(same(await store.bytes(name), long)).to.equal(true)
  })

  it('reads fail with STORE_CORRUPT when the file is cut or removed later', async () => {
    await store.receive(root, slice)
    const [id] = await files()
    await truncate(join(place.where, 'blobs', id), 5 * MIB + 100)
    expect(await errorOf(store.bytes(root))).to.include({ code: 'STORE_CORRUPT', start: 5 * MIB, len: GROUP })
    expect(same(await store.bytes(root, { end: 5 * MIB }), bytes.subarray(0, 5 * MIB))).to.equal(true)
    await store.close()
    await rm(join(place.where, 'blobs', id))
    store = await place.open()
    for (const [read, code] of [
      [() => store.bytes(root, { end: 2 * MIB }, { verify: false }), 'STORE_CORRUPT'],
      [() => store.bytes(root), 'STORE_MISSING'],
      [() => store.bytes(root, { end: 2 * MIB }), 'STORE_CORRUPT'],
      [() => collect(store.slice(root, { end: 2 * MIB })), 'STORE_MISSING']
    ]) {
      expect(await errorOf(read)).to.include({ code })
    }
    expect((await store.receive(root, slice)).complete).to.equal(true)
    expect(same(await store.bytes(root), bytes), 'after it was received again').to.equal(true)
  })

  it('put() of pieces that end around 1 MiB, where files begin, loses no byte', async () => {
    // At 1 MiB a put moves its bytes from memory to a file. It must not lose a piece then.
    for (const lens of [
      [MIB, 1], [MIB - 1, 1, 1], [MIB, MIB, 5], [65_536, MIB - 65_536, 65_536], [MIB + 1],
      Array(20).fill(60_000)
    ]) {
      let at = 0
      const pieces = lens.map(len => {
        at += len
        return bytes.subarray(at - len, at)
      })
      const { cid, size } = await store.put(stream(pieces))
      expect(size).to.equal(at)
      expect(same(await store.bytes(cid), bytes.subarray(0, at)), `${lens}`).to.equal(true)
    }
    expect(await files(), 'of four lengths').to.have.length(4)
  })
})
