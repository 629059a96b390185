// baobox demo --web: serves the demo page until Ctrl-C.

import { once } from 'node:events'
import { UsageError } from '../terminal/errors.js'
import { print } from '../terminal/output.js'

/** @import { Run } from '../types.js' */

/** Always the same port, so that the store of the page is still there the next time: browsers keep it by the port. */
const DEFAULT_PORT = 4780

/** @type {Run<typeof import('../table/program.js').demo>} */
export async function showPage ({ values: { port = DEFAULT_PORT }, operands }, { signal }) {
  if (operands.length > 0) throw new UsageError('FILE cannot be given with --web: choose a file in the page')
  const { serveDemo } = await import('../web/serve.js')
  const server = await serveDemo({ port })
  try {
    await print(`${server.url}  open this page in a browser; Ctrl-C ends it\n`)
    for (const { name, url } of server.hosts) await print(`${url}  host ${name} of the film\n`)
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    server.close()
  }
}
