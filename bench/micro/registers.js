// What should be in registers, and what should wait in memory?
//
// The state, the message and the chaining values of four lanes are forty vectors; a processor has sixteen or
// thirty-two registers for them. What is in local variables the compiler brings to registers and to the stack as it
// sees fit; what is in memory is loaded where it is used. The first row is what lib/engine/kernel/lanes.js does.

import { compareKernels } from './kernels.js'

await compareKernels('micro/registers', 'what waits in memory', {
  'message and chaining values in memory': {},
  'the message in memory': { cvs: 'locals' },
  'chaining values in memory': { message: 'locals' },
  'nothing in memory': { cvs: 'locals', message: 'locals' }
})
