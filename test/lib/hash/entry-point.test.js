// The entry point `baobox/hash`: see arrow.test.js for what it loads.
import { expect } from 'chai'
import * as hashing from '../../../lib/hash/index.js'
import * as all from '../../../lib/index.js'
import { errorOf } from '../../support/feeding.js'
import { hex } from '../../support/bytes.js'
import { noise } from '../../support/inputs.js'

describe('baobox/hash', () => {
  it('gives the functions and classes of baobox', () => {
    const names = [
      'Hasher', 'OutputReader', 'deriveKey', 'hash', 'hashInto', 'hashStream', 'kernelName', 'keyedHash', 'warmup'
    ]
    expect(Object.keys(hashing).sort()).to.deep.equal(names)
    for (const name of names.filter(name => name !== 'hashStream')) expect(hashing[name], name).to.equal(all[name])
  })

  it('hashes streams like baobox, and passes options and errors on', async () => {
    const bytes = noise(300_000)
    const key = noise(32)
    expect(hex(await hashing.hashStream(new Blob([bytes])))).to.equal(hex(all.hash(bytes)))
    expect(hex(await hashing.hashStream([bytes], { key }))).to.equal(hex(all.keyedHash(key, bytes)))
    expect(await errorOf(hashing.hashStream(12345))).to.be.instanceOf(TypeError)
  })
})
