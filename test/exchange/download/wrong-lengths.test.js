// Downloads from plain servers that tell a wrong length of the blob, and give its bytes and outboard as they are.
import { expect } from 'chai'
import { createOutboardSync } from '../../../encoder/index.js'
import { mirrorOf } from '../../../verifier/index.js'
import { noise } from '../../support/inputs.js'
import { fetchOf, file } from '../../support/servers.js'
import { inMemory } from '../../support/store/stores.js'
import { download } from '../../../exchange/download/index.js'

const content = noise((3 << 20) + 5, 374)
const { cid, bytes: pairs } = createOutboardSync(content)

/** A mirror whose Content-Range is wrong by `off` bytes. */
function mirrorAt (name, off = 0) {
  const url = `https://${name}.example/blob`
  const headers = ({ 'content-range': range = '', ...own }) =>
    ({ ...own, 'content-range': range.replace(/\d+$/, `${content.length + off}`) })
  return mirrorOf(url, { fetch: fetchOf({ [url]: file(content, { headers }), [`${url}.obao4`]: file(pairs) }) })
}

describe('a download from a server that tells a wrong length', () => {
  for (const off of [-1, 1, -20_000]) {
    const wrong = `${Math.abs(off)} bytes too ${off < 0 ? 'short' : 'long'}`
    it(`works when it is ${wrong}, and the mirror is no liar`, async () => {
      for (const from of [[mirrorAt('wrong', off)], [mirrorAt('wrong', off), mirrorAt('right')]]) {
        const place = await inMemory()
        try {
          const store = await place.open()
          const { complete, mirrors } = await download(store, cid, { from, maxUnverified: 0 })
          expect(complete).to.equal(true)
          for (const { state, error } of mirrors) expect([state, error]).to.deep.equal(['good', undefined])
          await store.close()
        } finally {
          await place.remove()
        }
      }
    })
  }
})
