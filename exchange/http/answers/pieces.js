// Answers with pieces of known length. Before the status is sent, a short answer is read as a whole, and the first
// piece of a long one. So damage there gives an error status and not a broken body.

import { concat } from '../../../lib/core/bytes.js'
import { bodyOf } from '../response/body.js'
import { headersWith, respond } from '../response/headers.js'

/** @import { TagFormat } from '../../../store/storage/format/tags.js' */
/** @import { Exchange } from '../exchange.js' */

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {Record<string, string>} headers  but for the length
 * @property {TagFormat} [format]  of what is held: `hashseq` for a sequence and its members. Default: the blob alone
 * @property {number} len  bytes of all pieces
 * @property {(signal?: AbortSignal) => AsyncGenerator<Uint8Array<ArrayBuffer>>} pieces  none of them empty
 */

/** Bytes of a piece, and of a short answer, at most. A client that reads nothing costs this much memory. */
export const PIECE_LEN = 1 << 18

/**
 * @param {Exchange} exchange @param {Uint8Array} root  the blob is held until the client has everything, or has gone
 * @param {Answer} answer
 */
export async function respondPieces (exchange, root, { status, headers, format, len, pieces }) {
  const withLen = { ...headers, 'content-length': `${len}` }
  if (exchange.isHead || len === 0) return respond(null, status, withLen)
  const { protection } = exchange.context
  const release = format === undefined ? protection.use(root) : protection.tag(root, format)
  const isShort = len <= PIECE_LEN
  // Fetching what is missing may take so long that the client leaves.
  const rest = pieces(isShort && !exchange.context.supplies.areOpen ? undefined : exchange.signal)
  try {
    const first = await read(rest, isShort ? len : 1)
    if (first.length < len) {
      const body = bodyOf(first, rest, { ...exchange.bodyOptions(status, release), len })
      return new Response(body, { status, headers: headersWith(withLen) })
    }
    await rest.return(undefined)
    exchange.sent = len
    return respond(first, status, withLen, exchange.Response)
  } finally {
    if (!exchange.isStreaming) release()
  }
}

/** @param {AsyncGenerator<Uint8Array<ArrayBuffer>>} pieces @param {number} len  bytes that are wanted at least */
async function read (pieces, len) {
  const parts = []
  for (let got = 0; got < len;) {
    const { value } = await pieces.next()
    if (value === undefined) throw new Error(`a blob gave ${got} of ${len} bytes`)
    parts.push(value)
    got += value.length
  }
  return parts.length === 1 ? parts[0] : concat(parts)
}
