// Runs in a worker thread: hashes the spans that it gets, one after the other, and sends the results.

import { isOpenHere, readIntoSync } from '#files'
import { kernelName, useKernel } from '../../engine/kernel/index.js'
import { leaseBuffers } from '../../engine/read-buffers.js'
import { listen, send } from '#port'
import { hashSpan } from './span.js'
import { errorToMessage } from './transfer-errors.js'
import { truncated } from '../../core/errors.js'

/** @import { SpanJob } from '../../core/types.js' */

const { buffers: [buffer] } = leaseBuffers()

/** Resolves when all jobs that have arrived so far have been answered. */
let last = Promise.resolve()

listen((/** @type {SpanJob & { id: number }} */ { id, ...job }) => {
  if ('file' in job.source && !isOpenHere(job.source.file)) return send({ id, isNotShared: true })
  // Read the Blob while earlier jobs are being hashed.
  const reading = 'blob' in job.source ? job.source.blob.arrayBuffer() : undefined
  reading?.catch(() => {}) // it may fail before anybody awaits it
  last = last.then(() => answer(id, job, reading))
})

send({ isReady: true })

/** @param {number} id @param {SpanJob} job @param {Promise<ArrayBuffer>} [reading] */
async function answer (id, job, reading) {
  try {
    if (kernelName() !== job.kernel) useKernel(job.kernel)
    const result = await hashSpan(job, reading ? [new Uint8Array(await reading)] : piecesOf(job))
    send({ id, result }, result.pairs && [result.pairs.buffer])
  } catch (error) {
    send({ id, failure: errorToMessage(error) })
  }
}

/** @param {SpanJob} job */
function * piecesOf ({ source, start, len }) {
  if ('bytes' in source) yield source.bytes
  if (!('file' in source)) return
  for (let at = 0; at < len; at += buffer.length) {
    const piece = buffer.subarray(0, len - at)
    const got = readIntoSync(source.file.fd, piece, start + at)
    if (got < piece.length) throw truncated({ start: start + at, wanted: piece.length, got })
    yield piece
  }
}
