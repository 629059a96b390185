// Files are put by path, by URL, and as streams of Node.js.
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { errorOf, ragged } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { forEachPlace } from '../support/store/stores.js'
import { describeSources } from '../support/store/suite.js'

describe('store: files', () => {
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

    describeSources(() => store, bytes, {
      'a path': () => path,
      'a file URL': () => pathToFileURL(path),
      'a Buffer': () => Buffer.from(bytes),
      'a Node stream': () => createReadStream(path),
      'a Node stream over pieces': () => Readable.from(ragged(bytes, 6))
    })

    it('are missed when they are not there', async () => {
      expect(await errorOf(store.put(join(folder, 'no such file')))).to.include({ code: 'ENOENT' })
    })
  })
})
