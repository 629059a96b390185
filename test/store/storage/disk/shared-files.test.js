// The file that several blobs share: it is as long as the longest of them.
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { BlobFolder } from '../../../../store/storage/disk/blob-folder.js'
import { MIB } from '../../../support/constants.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { onDisk } from '../../../support/store/stores.js'

describe('store: a file that blobs share', () => {
  it('is cut off when its longest blob is deleted while append() finds that it cannot share the file', async () => {
    const place = await onDisk()
    const { appender } = BlobFolder.prototype
    try {
      const store = await place.open()
      const { cid } = await store.put(noise(2 * MIB, 571))
      const longer = await store.append(cid, noise(MIB, 572))
      const [name] = await readdir(join(place.where, 'blobs'))
      const fileLen = async () => (await stat(join(place.where, 'blobs', name))).size
      expect(await fileLen()).to.equal(3 * MIB)
      BlobFolder.prototype.appender = async () => {
        await store.delete(longer.cid, { force: true })
        return undefined
      }
      expect(await errorOf(store.append(longer.cid, new Uint8Array(1)))).to.include({ code: 'STORE_NOT_FOUND' })
      expect(await fileLen()).to.equal(2 * MIB)
    } finally {
      BlobFolder.prototype.appender = appender
      await place.remove()
    }
  })
})
