// put() of files: by path, by URL, and as streams of Node.js.
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { hex, same } from '../../support/bytes.js'
import { errorOf, ragged } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { forEachPlace } from '../../support/store/stores.js'

describe('store: putting files', () => {
  const bytes = noise(4_500_001, 73)
  let folder
  let path
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'baobox-'))
    path = join(folder, 'blob')
    await writeFile(path, bytes)
  })
  after(() => rm(folder, { recursive: true }))

  forEachPlace(newPlace => {
    let store
    beforeEach(async () => { store = await newPlace().then(place => place.open()) })

    const SOURCES = {
      'a path': () => path,
      'a file URL': () => pathToFileURL(path),
      'a Buffer': () => Buffer.from(bytes),
      'a Node stream': () => createReadStream(path),
      'a Node stream over pieces': () => Readable.from(ragged(bytes, 6))
    }
    for (const [name, open] of Object.entries(SOURCES)) {
      it(`put() takes ${name}`, async () => {
        const { cid, size } = await store.put(open())
        expect(size).to.equal(bytes.length)
        expect(hex(cid.multihash.digest)).to.equal(hex(hash(bytes)))
        expect(same(await store.bytes(cid), bytes)).to.equal(true)
      })
    }

    it('put() of a path without a file fails with ENOENT', async () => {
      expect(await errorOf(store.put(join(folder, 'no such file')))).to.include({ code: 'ENOENT' })
    })
  })
})
