// Hashers by any sequence of calls, beside the twin; and input that stands anywhere in memory.
import { Hasher, deriveKey, hash, hashInto, keyedHash } from '../../../lib/index.js'
import { concat, same } from '../../support/bytes.js'
import { CONTEXT, KEY, noise } from '../../support/inputs.js'
import { hash as twinHash, modeOf } from '../../support/twin/index.js'
import { expectThat } from '../finding.js'
import { inPieces } from '../random.js'

/** @import { Random } from '../random.js' */

const MODES = [{}, {}, { key: KEY }, { context: CONTEXT }, { context: '' }]
function hasherIn ({ key, context }) {
  if (key) return Hasher.keyed(key)
  return context === undefined ? new Hasher() : Hasher.deriveKey(context)
}
const once = (bytes, length, { key, context }) =>
  key ? keyedHash(key, bytes, length) : context === undefined ? hash(bytes, length) : deriveKey(context, bytes, length)

/** Bytes at any place of some memory, of which the rest is noise. @param {Random} random @param {Uint8Array} bytes */
function placed (random, bytes) {
  const offset = random.below(9)
  const memory = typeof SharedArrayBuffer === 'function' && random.chance(0.2)
    ? new SharedArrayBuffer(
      offset + bytes.length + 7
    )
    : new ArrayBuffer(offset + bytes.length + 7)
  const all = new Uint8Array(memory)
  all.fill(0xee)
  all.set(bytes, offset)
  return all.subarray(offset, offset + bytes.length)
}

/**
 * Long inputs are not the twin's to hash again and again: hashing at once is compared with it once, and
 * all else with that.
 */
const LONG = 20_000

/** @param {Random} random */
function run (random) {
  const mode = random.pick(MODES)
  const twinMode = modeOf(mode)
  const answers = (bytes, length = 32, position = 0) => bytes.length <= LONG
    ? twinHash(bytes, length, twinMode, position)
    : once(bytes, position + length, mode).subarray(position)
  const hashers = [{ hasher: hasherIn(mode), fed: [] }]
  const some = () => random.pick(hashers)
  const acts = {
    update () {
      const one = some()
      const piece = placed(random, noise(random.below(1 << random.below(random.chance(0.1) ? 19 : 13)), random.next()))
      for (const part of inPieces(random, piece)) one.hasher.update(part)
      one.fed.push(piece.slice())
      piece.fill(0)
    },
    digest () {
      const { hasher, fed } = some()
      const length = random.chance(0.6) ? 32 : random.below(300)
      expectThat(
        same(hasher.digest(length), answers(concat(fed), length)),
        () => `digest of ${concat(fed).length} bytes, ${length} long`
      )
    },
    into () {
      const { hasher, fed } = some()
      const out = random.bytes(random.pick([32, 32, 0, 1, 64, 100]))
      hasher.digestInto(out)
      expectThat(same(out, answers(concat(fed), out.length)), () => `digestInto ${out.length} bytes`)
    },
    reader () {
      const { hasher, fed } = some()
      const reader = hasher.reader()
      const bytes = concat(fed)
      if (bytes.length > LONG) return
      for (let reads = random.between(1, 4), position = 0; reads > 0; reads--) {
        if (random.chance(0.5)) {
          reader.seek(
            position = random.chance(0.2) ? Number(random.claim(100) & (2n ** 52n - 1n)) : random.below(500)
          )
        }
        const length = random.below(200)
        expectThat(
          same(reader.read(length), answers(bytes, length, position)),
          () => `${length} bytes of output at ${position}`
        )
        position += length
      }
    },
    clone: () => {
      const { hasher, fed } = some()
      if (hashers.length < 4) hashers.push({ hasher: hasher.clone(), fed: [...fed] })
    },
    reset () {
      const one = some()
      one.hasher.reset()
      one.fed = []
    },
    other () { hash(random.bytes(random.below(3000))) }
  }
  for (let count = random.between(3, 25); count > 0; count--) {
    acts[
      random.weighted({ update: 8, digest: 5, into: 2, reader: 2, clone: 2, reset: 1, other: 2 })
    ]()
  }
  for (const { hasher, fed } of hashers) {
    const bytes = concat(fed)
    expectThat(same(hasher.digest(), answers(bytes)), () => `${bytes.length} bytes in ${fed.length} pieces`)
    expectThat(hasher.bytesHashed === bytes.length, () => `${hasher.bytesHashed} bytes hashed of ${bytes.length}`)
    if (bytes.length < 400_000 && random.chance(0.3)) {
      const length = random.chance(0.5) ? 32 : random.below(200)
      expectThat(
        same(once(placed(random, bytes), length, mode), twinHash(bytes, length, twinMode)),
        () => `${bytes.length} bytes at once`
      )
    }
  }
  const out = random.bytes(40)
  const [bytes] = [noise(random.below(2000), random.next())]
  expectThat(
    same(hashInto(placed(random, bytes), out).subarray(0, 32), twinHash(bytes)),
    () => `${bytes.length} bytes, hashInto`
  )
}

export default [
  {
    name: 'hashers',
    about: 'Hasher by any sequence of update, digest, reader, clone and reset, and hashing at once, ' +
      'beside the twin; input anywhere in memory',
    run
  }
]
