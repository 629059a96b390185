// Encodes the messages between a command and the owner of a store: JSON with CIDs as `{ "/": "bafkr4i..." }`, and the
// proof that the owner knows the token.

import { CID } from 'multiformats/cid'
import { keyedHash } from '../../../lib/hash/hasher.js'

/** @param {unknown} value */
export const encode = value => JSON.stringify(value ?? null, (_key, inner) =>
  inner instanceof Error ? { message: inner.message } : inner)

/** @param {string} text @returns {any} the encoding of undefined gives undefined */
export const decode = text => JSON.parse(text, (_key, inner) =>
  typeof inner?.['/'] === 'string' ? CID.parse(inner['/']) : inner) ?? undefined

/**
 * Computes the proof that a process knows the token, which shows that this process has written the address.
 *
 * @param {string} token  64 hexadecimal digits @param {string} nonce
 */
export const proofOf = (token, nonce) =>
  Buffer.from(keyedHash(Buffer.from(token, 'hex'), Buffer.from(nonce))).toString('hex')
