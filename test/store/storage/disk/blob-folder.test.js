// The folder of a store's files: a file that is deleted does not stay open.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openFolder } from '../../../../store/storage/disk/blob-folder.js'
import { noise } from '../../../support/inputs.js'
import { onDisk } from '../../../support/store/stores.js'

describe('store: the folder of blobs', () => {
  it('does not keep a deleted file open that a reader opened while it was deleted', async () => {
    const place = await onDisk()
    const folder = await openFolder(join(place.where, 'blobs'))
    try {
      await writeFile(folder.pathOf(7), noise(1000))
      const removing = folder.remove(7)
      const file = folder.reader(7)
      const got = await file.read(0, 10).catch(error => error.code)
      file.release()
      await removing
      expect(got === 'ENOENT' || got.length === 10).to.equal(true)
      expect(folder.readNow(7, 0, 10)).to.equal(undefined)
    } finally {
      await folder.close()
      await place.remove()
    }
  })
})
