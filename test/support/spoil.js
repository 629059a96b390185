// The changes that the vectors of liars make to a good response, and the names of their errors.
import { concat, flipped, unhex } from './bytes.js'

/**
 * @template Options
 * @param {Uint8Array} response  a good response
 * @param {Options} options  the decoder's options
 * @param {{ what: string }} spoilt  a case of `responses_bad`
 * @returns {Options & { response: Uint8Array }}
 */
export function spoil (response, options, spoilt) {
  switch (spoilt.what) {
    case 'flip': return { ...options, response: flipped(response, spoilt.offset, spoilt.xor) }
    case 'truncate': return { ...options, response: response.slice(0, spoilt.to) }
    case 'append': return { ...options, response: concat([response, unhex(spoilt.hex)]) }
    case 'wrong_root': return { ...options, response, cid: unhex(spoilt.root) }
    case 'size': return { ...options, response, size: spoilt.size }
    case 'chunk_log': return { ...options, response, groupLog: spoilt.chunk_log }
    default: throw new Error(`no such change: ${spoilt.what}`)
  }
}

/** Returns the bao-tree crate's name of an error. @param {{ code: string, node?: number, start?: number }} error */
export function nameOf ({ code, node, start }) {
  switch (code) {
    case 'BAO_PARENT_MISMATCH': return { kind: 'ParentHashMismatch', node }
    case 'BAO_LEAF_MISMATCH': return { kind: 'LeafHashMismatch', chunk: start / 1024 }
    case 'BAO_TRUNCATED': return node === undefined
      ? { kind: 'LeafNotFound', chunk: start / 1024 }
      : { kind: 'ParentNotFound', node }
    default: return { kind: code }
  }
}
