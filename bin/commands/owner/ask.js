// Asks the process that has a store open to do what a command would do with the store itself.

import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { BaoError } from '../../../lib/core/errors.js'
import { parseRoot, toCid } from '../../../lib/hash/cid.js'
import { Failure } from '../../terminal/errors.js'
import { readAddress } from './address.js'
import { decode, encode, proofOf } from './messages.js'

/** @import { IncomingMessage, RequestOptions } from 'node:http' */
/** @import { CID } from 'multiformats/cid' */
/** @import { Address } from './address.js' */
/**
 * @typedef {{ signal?: AbortSignal, onProgress?: (event: any) => void }} Ways
 * @typedef {{ start: number, end: number }} Span
 */

/** Milliseconds in which the owner must show who it is. */
const PATIENCE = 5000
/** Bytes of an answer, at most. */
const MAX_ANSWER_LEN = 1 << 26

/**
 * The process that has a store open, if it takes calls.
 *
 * @param {string} location
 * @param {number | undefined} pid  of the process that holds the lock, where the system tells
 * @param {AbortSignal} signal
 * @returns {Promise<Owner | undefined>}
 */
export async function ownerOf (location, pid, signal) {
  const address = await readAddress(location)
  if (address === undefined || (pid !== undefined && pid !== address.pid)) return undefined
  // The token is sent only to the process that knows it: the file may be old, and the port another program's by now.
  const nonce = randomBytes(32).toString('hex')
  const soon = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)])
  try {
    const proof = await exchange({ port: address.port, path: `/?nonce=${nonce}`, signal: soon })
    if (proof === proofOf(address.token, nonce)) return new Owner(address)
  } catch {
    signal.throwIfAborted()
  }
  return undefined
}

/** Methods of a `BlobStore`, which the owner runs. */
export class Owner {
  #address

  /** @param {Address} address */
  constructor (address) {
    this.#address = address
  }

  get pid () { return this.#address.pid }

  /** @param {AsyncIterable<Uint8Array>} source @param {Ways & { tag?: string, expect?: string }} options */
  put (source, { tag, expect, ...how }) { return this.#call('put', { tag, expect }, { ...how, body: source }) }

  /** @param {Uint8Array} root @param {AsyncIterable<Uint8Array>} slice @param {Span} range @param {Ways} how */
  receive (root, slice, range, how) {
    return this.#call('receive', { cid: toCid(root), ranges: jsonOf(range) }, { ...how, body: slice })
  }

  /** @param {Uint8Array} root @param {{ from: string[], parallel?: number, ranges?: Span } & Ways} options */
  download (root, { from, parallel, ranges, signal }) {
    return this.#call('download', { cid: toCid(root), from, parallel, ranges: ranges && jsonOf(ranges) }, { signal })
  }

  /** @param {Uint8Array} root @param {{ force?: boolean }} options */
  delete (root, { force }) { return this.#call('delete', { cid: toCid(root), force }) }

  /** @param {{ dryRun: boolean, signal: AbortSignal, onBlob: (blob: { cid: CID, bytes: number }) => void }} options */
  async gc ({ dryRun, signal, onBlob }) {
    const { freed, deleted } = await this.#call('gc', { dryRun }, { signal })
    deleted.forEach(onBlob)
    return freed
  }

  /** The hash of the blob that an operand names: see `rootIn`. @param {string} name */
  async rootIn (name) { return parseRoot(await this.#call('rootIn', { name })) }

  tags = {
    /** @param {string} name @param {Uint8Array | CID} named @param {{ format: string }} [options] */
    set: (name, named, options) =>
      this.#call('setTag', { name, cid: named instanceof Uint8Array ? toCid(named) : named, options }),
    /** @param {string} name */
    delete: name => this.#call('deleteTag', { name })
  }

  /**
   * @param {string} name @param {object} args @param {Ways & { body?: AsyncIterable<Uint8Array> }} [how]
   * @returns {Promise<any>}
   */
  async #call (name, args, { body, signal, onProgress } = {}) {
    const { port, token } = this.#address
    const path = `/${name}?${new URLSearchParams({ args: encode(args) })}`
    const headers = { authorization: `Bearer ${token}` }
    return decode(await exchange({ method: 'POST', port, path, headers, signal }, body && counted(body, onProgress)))
  }
}

/**
 * Sends a request to a port of this machine.
 *
 * @param {RequestOptions} options @param {AsyncIterable<Uint8Array>} [body]
 * @returns {Promise<string>} the answer
 */
function exchange (options, body = Readable.from([])) {
  return new Promise((resolve, reject) => {
    const sending = request({ host: '127.0.0.1', ...options })
    sending.once('response', response => {
      // An answer may come before the body has been sent: then the rest of that is not wanted.
      textOf(response).then(resolve, reject).finally(() => sending.destroy())
    })
    sending.on('error', reject) // also after the body has been sent
    pipeline(body, sending).catch(reject)
  })
}

/** @param {IncomingMessage} response @throws {BaoError | Failure} what the owner has failed with */
async function textOf (response) {
  let text = ''
  for await (const piece of response.setEncoding('utf8')) {
    text += piece
    if (text.length > MAX_ANSWER_LEN) throw new Failure('the process that has the store open answers without end')
  }
  if (response.statusCode === 200) return text
  const { code, message } = JSON.parse(text || '{}')
  throw code === undefined
    ? new Failure(message ?? `the process that has the store open answers with status ${response.statusCode}`)
    : new BaoError(code, message)
}

/**
 * The same pieces, whose bytes are counted.
 *
 * @param {AsyncIterable<Uint8Array>} pieces @param {Ways['onProgress']} onProgress
 */
async function * counted (pieces, onProgress) {
  let done = 0
  for await (const piece of pieces) {
    yield piece
    done += piece.length
    onProgress?.({ detail: { done } })
  }
}

/** A range as JSON, which knows no Infinity. @param {Span} range */
const jsonOf = ({ start, end }) => end === Infinity ? { start } : { start, end }
