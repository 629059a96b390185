// Measures the gain of each step from a naive port to the code of lib.
//
// A row is a hash function, made from the one above by one step; `x before` is the gain of the step, `x first` the gain
// over the naive port. The first steps, up to the arena, are the usual ones of fast BLAKE3 in JavaScript;
// transposing inside WebAssembly, joining parents four at a time, passing whole windows, and the form of the kernel
// are ours. A single chunk gains only from the steps in JavaScript.

import { hash } from '../../lib/index.js'
import { KiB, randomBytes, sized } from '../support/inputs.js'
import { run } from '../support/run.js'
import { assertHashes } from './check.js'
import { PLAIN, SHIPPED } from './kernel.js'
import { compressOf } from './steps/compress.js'
import { createHash as windowed } from './tree.js'

/** @import { Form } from './steps/compress.js' */

const SIZES = [KiB, 7 * KiB, 256 * KiB]

/**
 * Loads a module for one variant only, so that the runs of others do not influence its compiled code.
 *
 * @param {string} file
 * @param {string} step
 */
const fresh = (file, step) => import(`./steps/${file}.js?step=${encodeURIComponent(step)}`)

/**
 * The tree over views.
 *
 * @param {string} step
 * @param {'readChecked' | 'readWhole'} read
 * @param {() => unknown} compress
 */
const views = async (step, read, compress) => {
  const { createHash } = await fresh('views', step)
  return createHash({ readWords: (await fresh('words', step))[read], compress: await compress() })
}
/** The tree over offsets. @param {string} step @param {Partial<Form>} form @param {object} [more] */
const offsets = async (step, form, more) => {
  const { createHash } = await fresh('offsets', step)
  const compress = await compressOf({ state: 'locals', message: 'locals', isInPlace: true, ...form })
  return createHash({ compress, ...more })
}
/** The same with all steps in JavaScript. @param {string} step @param {object} [more] */
const quickest = (step, more) => offsets(step, { isUnrolled: true }, { keepsBuffers: true, readsWords: true, ...more })
/** Four chunks at a time. @param {string} step @param {string} way @param {object} [options] */
const four = async (step, way, options) => quickest(step, (await fresh('four', step))[way](options))

/** @type {Record<string, (step: string) => Promise<(bytes: Uint8Array) => Uint8Array>>} */
const STEPS = {
  'naive port': step => views(step, 'readChecked', async () => (await fresh('compress', step)).compressPermuting),
  'whole blocks are read without looking at the length': step =>
    views(step, 'readWhole', async () => (await fresh('compress', step)).compressPermuting),
  'the schedule is known, nothing is permuted': step =>
    views(step, 'readWhole', async () => (await fresh('compress', step)).compressScheduled),
  'the round is written into the compression': step =>
    views(step, 'readWhole', () => compressOf({ state: 'array', message: 'array' })),
  'the state in local variables': step =>
    views(step, 'readWhole', () => compressOf({ state: 'locals', message: 'array' })),
  'offsets for views, one stack': step => offsets(step, { message: 'array' }),
  'the message in local variables': step => offsets(step, {}),
  'buffers are kept': step => offsets(step, {}, { keepsBuffers: true }),
  'words are read where they lie': step => offsets(step, {}, { keepsBuffers: true, readsWords: true }),
  'the seven rounds are written out': step => quickest(step),
  'four chunks in WebAssembly': step => four(step, 'transposedByBlock'),
  'an arena, four chunks a call, parents inside': step => four(step, 'transposedByChunk'),
  'transposed inside': step => four(step, 'transposedInside'),
  'chunks that are left over fill lanes too': step => four(step, 'transposedInside', { fewest: 2 }),
  'parents four at a time': () => windowed({ chunksPerCall: 4, choices: { mixing: PLAIN, cvs: 'locals' } }),
  'a window a call': () => windowed({ choices: { mixing: PLAIN, cvs: 'locals' } }),
  'the word is added first': () => windowed({ choices: { mixing: { ...PLAIN, addsWordLast: false }, cvs: 'locals' } }),
  'rotations by whole bytes are swizzles': () =>
    windowed({ choices: { mixing: { ...SHIPPED, isSideBySide: false }, cvs: 'locals' } }),
  'four mixings side by side': () => windowed({ choices: { mixing: SHIPPED, cvs: 'locals' } }),
  'chaining values wait in memory': () => windowed({ choices: { mixing: SHIPPED, cvs: 'memory' } }),
  'baobox as it ships': async () => hash
}
const LAST_IN_JAVASCRIPT = 'the seven rounds are written out'

const variants = []
for (const [name, create] of Object.entries(STEPS)) {
  const hash = await create(name)
  assertHashes(name, hash)
  variants.push({ name, hash })
}

await run('micro/steps', 'from a naive port to what ships', SIZES.map(size => {
  const input = randomBytes(size)
  const inJavaScript = variants.slice(0, variants.findIndex(({ name }) => name === LAST_IN_JAVASCRIPT) + 1)
  const wanted = size > KiB ? variants : [...inJavaScript, variants[variants.length - 1]]
  const contestants = Object.fromEntries(wanted.map(({ name, hash }) => [name, () => hash(input)]))
  return { name: sized(size), bytes: size, contestants }
}), { form: 'chain' })
