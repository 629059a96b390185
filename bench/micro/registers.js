// Compares which vectors are in registers and which in memory.
//
// The state, the message and the chaining values of four lanes are forty vectors; a processor has sixteen or
// thirty-two registers for them. The compiler distributes local variables over registers and the stack; vectors
// in memory are loaded where they are used. The first row is the code of lib/engine/kernel/lanes.js.

import { compareKernels } from './kernels.js'

await compareKernels('micro/registers', 'what waits in memory', {
  'message and chaining values in memory': {},
  'the message in memory': { cvs: 'locals' },
  'chaining values in memory': { message: 'locals' },
  'nothing in memory': { cvs: 'locals', message: 'locals' }
})
