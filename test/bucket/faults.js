// A bucket behind a proxy that makes faults: what the calls say is true of the store behind it.
import { expect } from 'chai'
import { adopt, bucketMirror, probe } from '../../exchange/bucket/index.js'
import { hash, toCid } from '../../lib/index.js'
import { fetchVerified } from '../../verifier/index.js'
import { openS3 } from '../../exchange/bucket/s3.js'
import { bodyOf, bytesOf, textOf } from '../support/bucket/contract.js'
import { same } from '../support/bytes.js'
import { errorOf, listed } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { withStore } from '../support/bucket/stores.js'
import { ENGINES, chosen, start } from './engines.js'
import { FaultProxy } from './fault-proxy.js'
import { SHORT_WAITS } from './short-waits.js'

const engineName = chosen().find(name => ENGINES[name].isSafe)
const ROUNDS = 300

/** Random numbers that are the same for the same seed. */
function randomOf (seed) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state >>> 8) / 2 ** 24
  }
}

if (engineName !== undefined) {
  describe(`${engineName} behind a proxy that makes faults`, () => {
    let engine, proxy, direct, bucket, folders
    before(async () => {
      folders = 0
      engine = await start(engineName)
      proxy = new FaultProxy(engine.options[0].endpoint)
      engine.options.push({ ...engine.options[0], endpoint: await proxy.listen() })
    })
    after(async () => {
      await proxy?.close()
      await engine?.stop()
    })
    beforeEach(() => {
      const prefix = `faults-${++folders}`
      proxy.faultFor = () => undefined
      proxy.counts.clear()
      direct = openS3({ ...engine.options[0], prefix })
      bucket = openS3({ ...engine.options.at(-1), prefix, retries: 6 }, { clock: SHORT_WAITS, partLen: 5 << 20 })
    })

    /** Makes a fault of each request of a method, the first `count` times. */
    const faulty = (fault, method, count = 1) => {
      let left = count
      proxy.faultFor = request => request.method === method && left-- > 0 ? fault : undefined
    }

    for (const fault of ['refuse', 'lose', '500', '502', '503']) {
      it(`gets what it asks for after ${fault}`, async () => {
        faulty(fault, 'PUT', 2)
        expect(await bucket.put('a', bytesOf('1'))).to.include({ isWritten: true })
        faulty(fault, 'GET', 2)
        expect(await textOf(await bucket.get('a'))).to.equal('1')
        faulty(fault, 'GET', 2)
        expect(await listed(bucket.list())).to.have.length(1)
        faulty(fault, 'HEAD', 2)
        expect(await bucket.head('a')).to.include({ size: 1 })
        faulty(fault, 'DELETE', 2)
        await bucket.delete('a')
        expect(await direct.get('a')).to.equal(undefined)
        expect(proxy.counts.get(fault)).to.equal(2 * 5)
      })
    }

    it('knows that a write may have happened, and when it cannot have', async () => {
      for (const [fault, isWritten] of [['lose', true], ['502', true], ['500', false]]) {
        faulty(fault, 'PUT', Infinity)
        expect(await errorOf(bucket.put(`a-${fault}`, bytesOf('1')))).to.include({ code: 'BUCKET_UNKNOWN' })
        expect(await direct.get(`a-${fault}`) !== undefined).to.equal(isWritten)
      }
    })

    it('says that a deletion is unknown, which arrives later', async () => {
      await direct.put('a', bytesOf('1'))
      faulty('late', 'DELETE', Infinity)
      expect(await errorOf(bucket.delete('a'))).to.include({ code: 'BUCKET_UNKNOWN' })
      await proxy.settle()
      expect(await direct.get('a')).to.equal(undefined)
    })

    it('reads on where answers are cut, and refuses other ranges', async () => {
      const content = noise(3_000_000, 1)
      await direct.put('a', content)
      faulty('cut', 'GET', 5)
      expect(same(await bodyOf(await bucket.get('a', { start: 10, end: 2_900_000 })), content.subarray(10, 2_900_000)))
        .to.equal(true)
      faulty('cut', 'GET', 3)
      expect(await listed(bucket.list())).to.have.length(1)
      for (const fault of ['shift', 'whole']) {
        faulty(fault, 'GET', Infinity)
        expect(await errorOf(bucket.get('a', { start: 10, end: 20 }))).to.include({ code: 'BUCKET_INVALID' })
      }
    })

    it('puts in parts while every third request fails', async () => {
      const content = noise(17 << 20, 2)
      let count = 0
      const kinds = ['lose', 'refuse', '503']
      proxy.faultFor = ({ method }) => method !== 'POST' && ++count % 3 === 0 ? kinds[count % 9 / 3] : undefined
      await bucket.putParts('long', [content])
      expect(same(await bodyOf(await direct.get('long')), content)).to.equal(true)
    })

    it('that claim success, or show old lists, is refused by the probe', async () => {
      for (const [fault, method, text] of [
        ['created', 'PUT', 'racing creates'], ['stale', 'GET', 'a list did not see']
      ]) {
        const isMeant = request => request.method === method && (method === 'PUT' || request.url.includes('list-type'))
        proxy.faultFor = request => isMeant(request) ? fault : undefined
        const error = await errorOf(probe(bucket))
        expect(error).to.include({ code: 'BUCKET_UNSAFE' })
        expect(error.message).to.include(text)
      }
    })

    it('that claim success, or show old lists, is refused by a store at the first write', async () => {
      for (const [fault, method] of [['created', 'PUT'], ['stale', 'GET']]) {
        const isMeant = request => request.method === method && (method === 'PUT' || request.url.includes('list-type'))
        proxy.faultFor = request => isMeant(request) ? fault : undefined
        await withStore(bucket, async store => {
          for (const write of [() => store.put(noise(9)), () => store.tags.set('x', toCid(hash(noise(9))))]) {
            expect(await errorOf(write()), fault).to.include({ code: 'BUCKET_UNSAFE' })
          }
        })
      }
      expect(await listed(direct.list())).to.deep.equal([])
    })

    it('gives a store no wrong byte, whatever it does', async () => {
      const content = noise(700_000, 3)
      await withStore(direct, store => store.put(content, { tag: 'x' }))
      const kinds = ['refuse', 'lose', '500', '502', '503', 'cut', 'shift', 'whole', 'stale', 'created']
      for (const fault of kinds) {
        const random = randomOf(3)
        proxy.faultFor = ({ method }) => method === 'GET' && random() < 0.3 ? fault : undefined
        await withStore(bucket, async store => {
          const bytes = await store.bytes(toCid(hash(content))).catch(error => error)
          if (bytes instanceof Uint8Array) expect(same(bytes, content), fault).to.equal(true)
          else expect(bytes.code, fault).to.be.oneOf(['STORE_NOT_FOUND', 'STORE_MISSING', 'FETCH_EXHAUSTED'])
        })
        proxy.faultFor = () => undefined
        await withStore(bucket, async store =>
          expect(same(await store.bytes((await store.tags.get('x')).cid), content), fault).to.equal(true))
      }
    })

    it('passes the probe while one request of five fails', async () => {
      const random = randomOf(7)
      const kinds = ['refuse', 'lose', '500', '502', '503']
      proxy.faultFor = () => random() < 0.2 ? kinds[Math.floor(random() * 5)] : undefined
      expect(await probe(bucket)).to.deep.equal({ endpoints: 1, creates: 32 })
    })

    it('adopts objects, in several calls, while a third of the requests fail or are cut', async () => {
      const random = randomOf(3)
      const kinds = ['refuse', 'lose', '500', '502', '503', 'cut']
      const keys = Array.from({ length: 12 }, (_, i) => `v/${i}`).sort()
      const contentOf = key => noise(300_000, Number(key.slice(2)))
      for (const key of keys) await direct.put(key, contentOf(key))
      proxy.faultFor = () => random() < 0.3 ? kinds[Math.floor(random() * 6)] : undefined
      let results = []
      let failures = 0
      while (results.length < keys.length) {
        results = []
        try {
          for await (const result of adopt(bucket, { prefix: 'v/' })) {
            expect(result.error).to.equal(undefined)
            results.push(result)
          }
        } catch (error) {
          if (!['BUCKET_UNKNOWN', 'BUCKET_FAILED'].includes(error.code) || ++failures > 50) throw error
        }
      }
      expect(results.map(({ key, cid }) => [key, `${cid}`]))
        .to.deep.equal(keys.map(key => [key, `${toCid(hash(contentOf(key)))}`]))
      const [near, far] = [bucketMirror(direct), bucketMirror(bucket)]
      for (const { key, cid } of results) {
        for (const mirror of [near, far]) {
          const response = await fetchVerified(mirror, { cid, retries: 20 })
          expect(same(new Uint8Array(await response.arrayBuffer()), contentOf(key)), key).to.equal(true)
        }
      }
    })

    it(`tells the truth in ${ROUNDS} random calls, of which a third meet a fault`, async () => {
      const random = randomOf(1)
      const pick = list => list[Math.floor(random() * list.length)]
      proxy.faultFor = () => random() < 0.3 ? pick(['refuse', 'lose', '500', '502', '503', 'cut']) : undefined
      const keys = ['a', 'b', 'c/d', 'c/e']
      /** What may be under each key: bodies, or undefined for nothing. */
      const possible = new Map(keys.map(key => [key, new Set([undefined])]))
      const outcomes = { sure: 0, unknown: 0 }
      for (let i = 0; i < ROUNDS; i++) {
        const key = pick(keys)
        const may = possible.get(key)
        const kind = pick(['put', 'create', 'delete', 'get', 'list'])
        const body = `${i}`
        const calls = {
          put: () => bucket.put(key, bytesOf(body)),
          create: () => bucket.put(key, bytesOf(body), { ifAbsent: true }),
          delete: () => bucket.delete(key),
          get: async () => { const object = await bucket.get(key); return object && await textOf(object) },
          list: async () => (await listed(bucket.list())).map(({ key }) => key)
        }
        try {
          const result = await calls[kind]()
          outcomes.sure++
          if (kind === 'put') possible.set(key, new Set([body]))
          if (kind === 'create') {
            // If it found an object, that may be its own one.
            if (result.isWritten) expect(may, `${i}: ${key}`).to.include(undefined)
            const found = [...may, body].filter(some => some !== undefined)
            possible.set(key, new Set(result.isWritten ? [body] : found))
          }
          if (kind === 'delete') possible.set(key, new Set([undefined]))
          if (kind === 'get') {
            expect(may, `${i}: ${key}`).to.include(result)
            possible.set(key, new Set([result]))
          }
          if (kind === 'list') {
            for (const [name, bodies] of possible) {
              const mayBe = result.includes(name) ? [...bodies].some(some => some !== undefined) : bodies.has(undefined)
              expect(mayBe, `${i}: ${name}`).to.equal(true)
            }
          }
        } catch (error) {
          if (!['BUCKET_UNKNOWN', 'BUCKET_FAILED'].includes(error.code)) throw error
          outcomes.unknown++
          if (error.code === 'BUCKET_UNKNOWN') may.add(kind === 'delete' ? undefined : body)
        }
      }
      expect(outcomes.sure).to.be.above(ROUNDS / 2)
      for (const key of keys) {
        const object = await direct.get(key)
        expect(possible.get(key), key).to.include(object && await textOf(object))
      }
    })
  })
}
