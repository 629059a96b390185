// Compares ways to write the mixing of four lanes.
//
// WebAssembly has no rotation of vectors. Two shifts and an or always work; rotations by 16 and 8 bits only move bytes,
// which a shuffle with constant lanes or a swizzle by a mask does in one instruction, if the engine sees that. And
// engines differ in how much of the order of the code they keep, so the order of the lines matters. The quickest form
// differs from version to version: run this where it matters. The first row is the code of lib/engine/kernel/lanes.js;
// the others differ from it as their names say.

import { compareKernels } from './kernels.js'
import { SHIPPED } from './kernel.js'

await compareKernels('micro/mixing', 'how the mixing of four lanes is written', {
  'by 16 and 8 swizzled': {},
  'masks are constants where they are used': { mixing: { ...SHIPPED, keepsMasks: false } },
  'by 16 swizzled, by 8 shifted': { mixing: { ...SHIPPED, by8: 'shifts' } },
  'by 16 shuffled, by 8 shifted': { mixing: { ...SHIPPED, by16: 'shuffle', by8: 'shifts' } },
  'by 16 and 8 shuffled': { mixing: { ...SHIPPED, by16: 'shuffle', by8: 'shuffle' } },
  'by 16 and 8 shifted': { mixing: { ...SHIPPED, by16: 'shifts', by8: 'shifts' } },
  'one mixing after the other': { mixing: { ...SHIPPED, isSideBySide: false } },
  'the word is added last': { mixing: { ...SHIPPED, addsWordLast: true } }
})
