// The WebAssembly kernel, assembled at run time. lanes.js compresses many chunks or parents. A single chunk or block is
// compressed in one of two ways, by rows.js or words.js; probe.js finds the quicker one. `reduce` joins the chaining
// values of a window, `gather` and `scatter` copy, and `compare` compares. The contract is `Kernel` in types.d.ts.
//
// Workers refuse to compile at run time, so engine.wasm has the kernel for them.

import { engine } from '#engine'
import { BLOCK_LEN, HASH_LEN, PAIR_LEN, PARENT } from '../../core/constants.js'
import { CVS, CVS_TABLE, OUT, PAGES, memory } from '../arena.js'
import { call, func, i32, loopWhile, module, v128, when } from './assembler.js'
import { compressMany } from './lanes.js'
import { quickerForm } from './probe.js'
import * as rows from './rows.js'
import * as words from './words.js'

/** @import { Local } from './assembler.js' */
/** @import { Code, Kernel } from '../../core/types.js' */

/** Both forms of `compressBlock` and `compressChunk`. */
const FORMS = { rows, words }

/** @param {number} compressManyAt  place of `compressMany` in the module */
const reduce = compressManyAt => func('reduce', 3, ([count, flags, downTo], local) => {
  const at = local('i32')
  const above = local('i32')
  const pairs = local('i32')
  const isMore = i32.gtS(count.get, downTo.get)
  /** @param {Local} cvs @param {Code} index */
  const cvAt = (cvs, index) => i32.add(cvs.get, i32.shl(index, i32.const(Math.log2(HASH_LEN))))
  const joinLevel = [
    pairs.set(i32.shrU(count.get, i32.const(1))),
    above.set(cvAt(at, i32.shl(i32.shrU(i32.add(count.get, i32.const(1)), i32.const(1)), i32.const(1)))),
    call(compressManyAt,
      i32.add(i32.const(CVS_TABLE), i32.shrU(i32.sub(at.get, i32.const(CVS)), i32.const(Math.log2(PAIR_LEN / 4)))),
      pairs.get, i32.const(PAIR_LEN), i32.or(flags.get, i32.const(PARENT)), i32.const(0), i32.const(0), above.get),
    when(i32.and(count.get, i32.const(1)), [0, 16].map(half =>
      v128.store(cvAt(above, pairs.get), v128.load(cvAt(at, i32.sub(count.get, i32.const(1))), half), half))),
    at.set(above.get),
    count.set(i32.sub(count.get, pairs.get))
  ]
  return [at.set(i32.const(CVS)), when(isMore, loopWhile(joinLevel, isMore))]
})

/**
 * Copies inputs from the places in a table to adjacent places (`gather`), or back (`scatter`).
 *
 * @param {'gather' | 'scatter'} name
 */
const copy = name => func(name, 4, ([table, count, len, together], local) => {
  const place = local('i32')
  const end = local('i32')
  const words = [0, 1, 2, 3].map(() => local('v128'))
  const [from, to] = name === 'gather' ? [place, together] : [together, place]
  return loopWhile([
    place.set(i32.load(table.get)),
    end.set(i32.add(from.get, len.get)),
    loopWhile([
      words.map((word, i) => word.set(v128.load(from.get, 16 * i))),
      words.map((word, i) => v128.store(to.get, word.get, 16 * i)),
      to.set(i32.add(to.get, i32.const(BLOCK_LEN))),
      from.set(i32.add(from.get, i32.const(BLOCK_LEN)))
    ], i32.ltS(from.get, end.get)),
    table.set(i32.add(table.get, i32.const(4))),
    count.set(i32.sub(count.get, i32.const(1)))
  ], i32.gtS(count.get, i32.const(0)))
})

const compare = () => func('compare', 4, ([table, count, len, at], local) => {
  const other = local('i32')
  const end = local('i32')
  const difference = local('v128')
  return [
    loopWhile([
      other.set(i32.load(table.get)),
      end.set(i32.add(at.get, len.get)),
      loopWhile([
        [0, 16, 32, 48].map(part => difference.set(
          v128.or(difference.get, v128.xor(v128.load(at.get, part), v128.load(other.get, part))))),
        other.set(i32.add(other.get, i32.const(BLOCK_LEN))),
        at.set(i32.add(at.get, i32.const(BLOCK_LEN)))
      ], i32.ltS(at.get, end.get)),
      table.set(i32.add(table.get, i32.const(4))),
      count.set(i32.sub(count.get, i32.const(1)))
    ], i32.gtS(count.get, i32.const(0))),
    v128.store(i32.const(OUT), difference.get)
  ]
})

/** The form in engine.wasm. The clock of Workers stands still while they compute, so they cannot measure the forms. */
const ENGINE_FORM = 'words'

/** @param {'rows' | 'words'} [form]  how a single chunk is hashed. Default: the form in engine.wasm */
export function assembleKernel (form = ENGINE_FORM) {
  const { functions, SECOND_ALONE } = FORMS[form]
  const alone = functions()
  return module(PAGES, [
    ...alone, compressMany(SECOND_ALONE), reduce(alone.length), copy('gather'), copy('scatter'), compare()
  ])
}

/**
 * Assembles and compiles the kernel, unless a compiled one is there.
 *
 * @param {'rows' | 'words'} [form]  how a single chunk is hashed. Default: the quicker form on this processor
 * @returns {Kernel}
 * @throws where WebAssembly or its SIMD is refused
 */
export function createSimdKernel (form = engine === undefined ? quickerForm() : ENGINE_FORM) {
  if (memory === undefined) throw new Error('WebAssembly is not available')
  const compiled = form === ENGINE_FORM && engine ? engine : new WebAssembly.Module(assembleKernel(form))
  const { exports } = new WebAssembly.Instance(compiled, { arena: { memory } })
  return /** @type {Kernel} */ (/** @type {unknown} */ ({ name: `simd-${form}`, ...exports }))
}
