// Writes to a file of the store.
import { expect } from 'chai'
import { concat } from 'uint8arrays/concat'
import { equals } from 'uint8arrays/equals'
import { openFolder } from '../../../../store/storage/disk/blob-folder.js'
import { noise } from '../../../support/inputs.js'
import { onDisk } from '../../../support/store/stores.js'

describe('store: writing to a file', () => {
  for (const lens of [[1], [1 << 20], [1 << 20, 1], [5, 0, (1 << 20) + 3, 700_000, 1 << 21, 9]]) {
    it(`writes pieces of ${lens.join(', ')} bytes one after the other at a position`, async () => {
      const place = await onDisk()
      const folder = await openFolder(place.where)
      try {
        const pieces = lens.map(len => noise(len))
        const writer = await folder.writer(7, { isNew: true })
        await writer.write(pieces, 100)
        await writer.close()
        const file = folder.reader(7)
        const got = await file.read(0, 1 << 23)
        file.release()
        expect(got.length).to.equal(100 + lens.reduce((sum, len) => sum + len))
        expect(equals(got.subarray(100), concat(pieces))).to.equal(true)
      } finally {
        await folder.close()
        await place.remove()
      }
    })
  }
})
