// Measures the latency of vector operations, which decides whether rows.js or words.js hashes one chunk alone faster.
// Within one block, each operation waits for the previous one. If a vector operation takes one cycle, as a scalar one
// does, rows.js wins, because it has a quarter of the operations. If it takes two (Zen 5, Arm), words.js wins. In some
// browsers, the clock is too coarse to measure this.

import { func, i32, i32x4, loopWhile, module, v128, whenElse } from './assembler.js'
import { KEY, OUT, PAGES, memory } from '../arena.js'

/** @import { Local } from './assembler.js' */
/** @import { Code } from '../../core/types.js' */

/** @typedef {(a: Code, b: Code) => Code} Operation */

/** How many additions one pass of the loop has. */
const ADDITIONS = 24
const LOOPS = 1000
/** How many times each loop runs. The quickest run counts. */
const RUNS = 5

/**
 * From this ratio of the times on, vector additions count as slow. If their latency is one cycle, the ratio is 1.0, or
 * 1.4 in code that an engine has compiled without optimising; if it is two cycles, the ratio is 1.9 or more.
 */
const SLOW_VECTORS = 1.6

/** Additions, each of which waits for the previous one. @param {Code} x @param {Local} y @param {Operation} add */
const chain = (x, y, add) => {
  for (let i = 0; i < ADDITIONS; i++) x = add(x, y.get)
  return x
}

/** One function has both loops, so that an engine that compiles it again for speed compiles both together. */
const timed = () => func('timed', 1, ([isVector], local) => {
  const count = local('i32')
  const [word, otherWord] = [local('i32'), local('i32')]
  const [vector, otherVector] = [local('v128'), local('v128')]
  const isMore = i32.gtS(count.tee(i32.sub(count.get, i32.const(1))), i32.const(0))
  return [
    count.set(i32.const(LOOPS)),
    otherWord.set(i32.load(i32.const(KEY))),
    otherVector.set(v128.load(i32.const(KEY))),
    whenElse(isVector.get,
      loopWhile(vector.set(chain(vector.get, otherVector, i32x4.add)), isMore),
      loopWhile(word.set(chain(word.get, otherWord, i32.add)), isMore)),
    // Nobody reads the results, but without them, a compiler could leave out the work.
    i32.store(i32.const(OUT), word.get),
    v128.store(i32.const(OUT), vector.get, 16)
  ]
})

/**
 * Finds the quicker form of `compressChunk` and `compressBlock` on this machine, in about a tenth of a millisecond.
 *
 * @returns {'rows' | 'words'} `words` when the clock cannot tell
 */
export function quickerForm () {
  if (memory === undefined) return 'words'
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module(PAGES, [timed()])), { arena: { memory } })
  const run = /** @type {(isVector: number) => void} */ (exports.timed)
  let [words, vectors] = [Infinity, Infinity]
  for (let i = 0; i < RUNS; i++) {
    words = Math.min(words, durationOf(() => run(0)))
    vectors = Math.min(vectors, durationOf(() => run(1)))
  }
  return words > 0 && vectors < SLOW_VECTORS * words ? 'rows' : 'words'
}

/** The milliseconds that some work takes. @param {() => void} work */
function durationOf (work) {
  const start = performance.now()
  work()
  return performance.now() - start
}
