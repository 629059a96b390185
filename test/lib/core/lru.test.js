import { expect } from 'chai'
import fc from 'fast-check'
import { LruCache } from '../../../lib/core/lru.js'
import { holds } from '../../support/property.js'

/** The same as a list of [key, value], least recently used first. */
class Model {
  list = []
  constructor (max) { this.max = max }
  get size () { return this.list.length }
  has (key) { return this.list.some(entry => entry[0] === key) }
  peek (key) { return this.list.find(entry => entry[0] === key)?.[1] }
  get (key) {
    const value = this.peek(key)
    if (this.delete(key)) this.list.push([key, value])
    return value
  }

  set (key, value) {
    this.delete(key)
    this.list.push([key, value])
    if (this.list.length > this.max) this.list.shift()
  }

  delete (key) {
    const before = this.list.length
    this.list = this.list.filter(entry => entry[0] !== key)
    return this.list.length < before
  }

  clear () { this.list = [] }
}

describe('LruCache', () => {
  const key = fc.integer({ min: 0, max: 8 })
  const calls = fc.array(fc.oneof(
    fc.record({ name: fc.constantFrom('get', 'peek', 'has', 'delete', 'set'), key }),
    { weight: 1, arbitrary: fc.constant({ name: 'clear' }) }
  ), { maxLength: 200 })

  it('behaves like a list in the order of use', () => {
    return holds('LruCache', fc.property(calls, fc.integer({ min: 1, max: 6 }), (calls, max) => {
      const [cache, model] = [new LruCache(max), new Model(max)]
      for (const [i, { name, key }] of calls.entries()) {
        expect(cache[name](key, i)).to.equal(model[name](key, i))
        expect([...cache.keys()]).to.deep.equal(model.list.map(([key]) => key))
        expect(cache.size).to.equal(model.size)
      }
    }))
  })

  it('keeps everything without a limit, and allows keys to be deleted while they are iterated', () => {
    const cache = new LruCache()
    for (let i = 0; i < 1000; i++) cache.set(i, i)
    for (const key of cache.keys()) if (key % 2 === 0) cache.delete(key)
    expect(cache.size).to.equal(500)
    expect([...cache.keys()]).to.deep.equal(Array.from({ length: 500 }, (_, i) => 2 * i + 1))
  })
})
