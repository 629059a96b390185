// Limits on servers in a fetch: they may name a number of mirrors, and send a number of unproven bytes.
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { noise } from '../../../support/inputs.js'
import { newFolder } from '../../../support/program.js'

const MIB = 2 ** 20
const SHORT = noise(100_000, 71)
const LONG = noise(17 * MIB + 5, 72)
const BLOBS = new Map([SHORT, LONG].map(bytes => [`/${toCid(hash(bytes))}`, bytes]))
const [SHORT_CID, LONG_CID] = [...BLOBS.keys()].map(path => path.slice(1))

describe('baobox fetch limits servers', () => {
  const folder = newFolder()
  const servers = []
  after(() => servers.forEach(server => server.close()))

  /** A server, and the number of its requests. @param {import('node:http').RequestListener} answer */
  async function serving (answer) {
    const server = createServer((request, response) => {
      place.asked++
      answer(request, response)
    }).listen(0, '127.0.0.1')
    servers.push(server)
    const place = { asked: 0, url: '' }
    await once(server, 'listening')
    place.url = `http://127.0.0.1:${server.address().port}`
    return place
  }

  /** A server that has the blobs and no outboards. */
  const servingBlobs = () => serving(({ url }, response) => {
    const bytes = BLOBS.get(url)
    response.writeHead(bytes === undefined ? 404 : 200).end(bytes)
  })

  describe('by --max-duplicates', () => {
    let good
    let main
    before(async () => {
      good = await servingBlobs()
      // The server names a mirror, and sends wrong bytes.
      main = await serving(({ url }, response) => {
        if (!BLOBS.has(url)) return response.writeHead(404).end()
        response.writeHead(200, { link: `<${good.url}${url}>; rel=duplicate` })
        response.end(BLOBS.get(url).map(byte => byte ^ 1))
      })
    })

    for (const [title, output, reason] of [
      ['into a store', ['--store', 'added'], 'FETCH_EXHAUSTED'], ['to a file', ['file'], 'FETCH_EXHAUSTED'],
      ['to stdout', ['-'], 'BAO_LEAF_MISMATCH']
    ]) {
      it(`${title}: with 1 a server may name a mirror, and with 0 it may not`, async () => {
        const args = ['fetch', `${main.url}/${SHORT_CID}`, ...output]
        const none = await folder.run([...args, '--max-duplicates', '0'])
        expect([none.code, none.out, none.err.split(': ')[1]]).to.deep.equal([1, '', reason])
        expect(good.asked).to.equal(0)
        const more = await folder.run([...args, '--max-duplicates', '1'])
        expect(more).to.include({ code: 0, err: '' })
        expect(good.asked).to.be.above(0)
        good.asked = 0
      })
    }
  })

  describe('by --max-unverified', () => {
    let plain
    before(async () => { plain = await servingBlobs() })

    for (const [title, output] of [['into a store', ['--store', 'long']], ['to a file', ['long file']]]) {
      it(`${title}: a long blob without an outboard may have so many bytes`, async () => {
        const args = ['fetch', `${plain.url}/${LONG_CID}`, ...output, '--json']
        for (const bound of ['0', '17MiB']) {
          const { code, out, err } = await folder.run([...args, '--max-unverified', bound])
          expect([code, out], bound).to.deep.equal([1, ''])
          expect(JSON.parse(err).error, bound).to.have.property('code', 'FETCH_EXHAUSTED')
          expect(await readdir(folder.path)).to.not.include(output.at(-1))
        }
        const whole = await folder.run([...args, `--max-unverified=${LONG.length}`])
        expect(whole).to.include({ code: 0, err: '' })
        expect(JSON.parse(whole.out)).to.include({ received: LONG.length, complete: true })
      })
    }

    it('which is for one whole blob', async () => {
      for (const args of [['-'], ['part', '--end', '5'], ['--start', '5'], ['-r']]) {
        const { code, err } = await folder.run(['fetch', `${plain.url}/${LONG_CID}`, ...args, '--max-unverified', '1'])
        expect(code, args.join(' ')).to.equal(2)
        expect(err).to.include('--max-unverified is for one whole blob, into the store or a file')
      }
    })
  })

  it('by numbers, and refuses other values', async () => {
    for (const [option, value, message] of [
      ['--max-duplicates', '65', "--max-duplicates: '65' is not a number from 0 to 64"],
      ['--max-duplicates', '1.5', "--max-duplicates: '1.5' is not a number from 0 to 64"],
      ['--max-duplicates', '', "--max-duplicates: '' is not a number from 0 to 64"],
      ['--max-unverified', '1GB', "--max-unverified: '1GB' is not a size: expected a number of bytes"],
      ['--max-unverified', '9000000TiB', "--max-unverified: '9000000TiB' is not a size"],
      ['--max-unverified', '', "--max-unverified: '' is not a size"]
    ]) {
      const from = ['--from', 'http://a.example']
      const { code, out, err } = await folder.run(['fetch', SHORT_CID, ...from, `${option}=${value}`])
      expect([code, out], message).to.deep.equal([2, ''])
      expect(err).to.include(message)
    }
    const { code, err } = await folder.run(['fetch', SHORT_CID, '--max-unverified', '-1'])
    expect([code, err.includes("one that begins with '-' is written --max-unverified=-1")]).to.deep.equal([2, true])
  })
})
