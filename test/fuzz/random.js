// Random choices that a number repeats: every case of a fuzzer is drawn from one of these, and named by its seed.
import { concat } from '../support/bytes.js'

export class Random {
  #state

  /** @param {number} seed  32 bits */
  constructor (seed) {
    this.#state = seed >>> 0
  }

  /** 32 bits. (A counter, mixed: neighbouring seeds have nothing in common.) */
  next () {
    this.#state = (this.#state + 0x9e3779b9) >>> 0
    let x = this.#state
    x = Math.imul(x ^ (x >>> 16), 0x21f0aaad)
    x = Math.imul(x ^ (x >>> 15), 0x735a2d97)
    return (x ^ (x >>> 15)) >>> 0
  }

  /** 0 to n - 1. @param {number} n  at most 2^32 */
  below (n) { return Math.floor(this.next() / 2 ** 32 * n) }

  /** @param {number} min @param {number} max  included */
  between (min, max) { return min + this.below(max - min + 1) }

  /** @param {number} part  of 1 */
  chance (part) { return this.next() < part * 2 ** 32 }

  /** @template T @param {T[]} list @returns {T} */
  pick (list) { return list[this.below(list.length)] }

  /** One of the keys of an object, each as often as its value says. @param {Record<string, number>} weights */
  weighted (weights) {
    let left = this.below(Object.values(weights).reduce((sum, weight) => sum + weight, 0))
    return Object.keys(weights).find(name => (left -= weights[name]) < 0)
  }

  /** @param {number} len */
  bytes (len) {
    const out = new Uint8Array(len)
    for (let i = 0; i < len; i++) out[i] = this.next()
    return out
  }

  /** Places where `bytes` are cut, at most so many. @param {number} len @param {number} most */
  cuts (len, most) {
    const at = Array.from({ length: this.below(most + 1) }, () => this.below(len + 1))
    return [...at, 0, len].sort((a, b) => a - b)
  }

  /**
   * Any number that a size, an offset or a length may be claimed to be.
   *
   * @param {number} near  the true one
   * @returns {bigint}
   */
  claim (near) {
    const true64 = BigInt(near)
    const lie = this.pick([
      () => true64 + BigInt(this.pick([-1025, -1024, -1023, -64, -1, 1, 64, 1023, 1024, 1025, 16384])),
      () => true64 * 2n,
      () => true64 / 2n,
      () => BigInt(this.below(near + 1)),
      () => BigInt(this.below(2 * near + 2048)),
      () => BigInt(this.below(40)) * 1024n + BigInt(this.pick([-1, 0, 1])),
      () => 1n << BigInt(this.below(64)),
      () => (1n << BigInt(this.below(64))) + true64,
      () => this.pick(
        [0n, 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n, 2n ** 32n, 2n ** 32n + true64]
      )
    ])()
    return lie < 0n ? 0n : lie & 0xffffffffffffffffn
  }
}

/**
 * The bytes in pieces, by a hand that knows many ways to cut.
 *
 * @param {Random} random @param {Uint8Array} bytes
 * @returns {Uint8Array[]}
 */
export function inPieces (random, bytes) {
  const { length } = bytes
  const cutAt = places => places.slice(1).map((end, i) => bytes.subarray(places[i], end))
  const stepping = next => {
    const out = []
    for (let at = 0; at < length;) {
      const len = next()
      out.push(bytes.subarray(at, at + len))
      at += len
    }
    return out
  }
  return {
    whole: () => [bytes],
    few: () => cutAt(random.cuts(length, 6)),
    odd: () => cutAt(random.cuts(length, 3)).map(part => concat([random.bytes(3), part]).subarray(3)),
    ragged: () => stepping(() => random.below(1 << random.below(13))),
    tiny: () => stepping(() => random.below(4))
  }[random.weighted(
    { whole: 4, few: 6, odd: 2, ragged: 4, tiny: length < 5000 ? 2 : length < 150_000 && random.chance(0.05) ? 2 : 0 }
  )]()
}
