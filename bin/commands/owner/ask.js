// Asks the process that has a store open to do the work of a command.

import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { BaoError } from '../../../lib/core/errors.js'
import { toCid } from '../../../lib/hash/cid.js'
import { eitherOf } from '../../../lib/source/async-util.js'
import { Failure } from '../../terminal/errors.js'
import { reportProgress } from '../../terminal/progress.js'
import { readAddress } from './address.js'
import { decode, encode, proofOf } from './messages.js'

/** @import { IncomingMessage, RequestOptions } from 'node:http' */
/** @import { ByteRange } from '../../../lib/index.js' */
/** @import { CID } from 'multiformats/cid' */
/** @import { FetchOptions } from '../network/download.js' */
/** @import { FolderOptions } from '../store/collections.js' */
/** @import { Address } from './address.js' */
/**
 * @typedef {{ signal?: AbortSignal, onProgress?: (event: any) => void }} Ways
 * @typedef {Record<string, ((value: any) => void) | undefined>} Listeners  for events from the owner, by event name
 * @typedef {{ code?: import('../../../lib/core/errors.js').BaoErrorCode, message: string }} ToldError  by the owner
 * @typedef {Ways & { mode: 'copy' | 'reference', tag?: string, expect?: string }} ImportOptions
 */

/** Milliseconds in which the owner must prove that it knows the token. */
const PATIENCE = 5000
/** The maximum number of characters in a line of an answer. */
const MAX_LINE_LEN = 1 << 26

/**
 * The process that has a store open, if it takes calls.
 *
 * @param {string} location
 * @param {number | undefined} pid  of the process that holds the lock, if the system reports it
 * @param {AbortSignal} signal
 * @returns {Promise<Owner | undefined>}
 */
export async function ownerOf (location, pid, signal) {
  const address = await readAddress(location)
  if (address === undefined || (pid !== undefined && pid !== address.pid)) return undefined
  // The file may be old, and another program may have the port now, so the token is sent only to a process that knows
  // it.
  const nonce = randomBytes(32).toString('hex')
  const soon = eitherOf(signal, AbortSignal.timeout(PATIENCE))
  try {
    const proof = await exchange({ port: address.port, path: `/?nonce=${nonce}`, signal: soon }, firstLine)
    if (proof === proofOf(address.token, nonce)) return new Owner(address)
  } catch {
    signal.throwIfAborted()
  }
  return undefined
}

/** Has some methods of a `BlobStore`, which the owner runs. */
export class Owner {
  #address

  /** @param {Address} address */
  constructor (address) {
    this.#address = address
  }

  get pid () { return this.#address.pid }

  /** @param {AsyncIterable<Uint8Array>} source @param {Ways & { tag?: string, expect?: string }} options */
  put (source, { tag, expect, ...how }) { return this.#call('put', { tag, expect }, { ...how, body: source }) }

  /** @param {string} path @param {ImportOptions} options */
  importFile (path, { signal, onProgress, ...options }) {
    return this.#call('importFile', { ...options, path: resolve(path) }, { signal, listeners: { onProgress } })
  }

  /** Does what `importFolder` does. @param {string} path @param {FolderOptions} options */
  importDirectory (path, { known, signal, onProgress, onError, ...options }) {
    const args = { ...options, path: resolve(path), known: known && resolve(known), goesOn: onError !== undefined }
    /** @param {{ name: string, error: ToldError }} event */
    const whenFailed = ({ name, error }) => onError?.({ name, error: errorOf(error) })
    const listeners = { onProgress, onError: whenFailed }
    return this.#call('importDirectory', args, { signal, listeners })
  }

  /** The parts are whole blobs. @param {{ cid: Uint8Array }[]} parts @param {Ways & { tag?: string }} options */
  compose (parts, { tag, signal, onProgress }) {
    const cids = parts.map(({ cid }) => toCid(cid))
    return this.#call('concat', { cids, tag }, { signal, listeners: { onProgress } })
  }

  /** @param {Uint8Array} root @param {AsyncIterable<Uint8Array>} slice @param {ByteRange} range @param {Ways} how */
  receive (root, slice, range, how) {
    return this.#call('receive', { cid: toCid(root), ranges: jsonOf(range) }, { ...how, body: slice })
  }

  /** As `downloadInto`. @param {CID} cid @param {FetchOptions & { ranges?: ByteRange }} options */
  download (cid, { ranges, signal, onProgress, onFile, onAnswer, ...options }) {
    const args = { ...options, cid, ranges: ranges && jsonOf(ranges) }
    return this.#call('download', args, { signal, listeners: { onProgress, onFile, onAnswer } })
  }

  /**
   * Does what `importArchive` does.
   *
   * @param {AsyncIterable<Uint8Array>} archive @param {Ways & { tag?: string, unknown?: 'skip' | 'refuse' }} options
   */
  import (archive, { tag, unknown, ...how }) {
    return this.#call('import', { tag, unknown }, { ...how, body: archive })
  }

  /** @param {{ signal: AbortSignal }} options */
  compact ({ signal }) { return this.#call('compact', {}, { signal }) }

  /** @param {Uint8Array} root @param {{ force?: boolean }} options */
  delete (root, { force }) { return this.#call('delete', { cid: toCid(root), force }) }

  /** @param {{ dryRun: boolean, signal: AbortSignal, onBlob: (blob: { cid: CID, bytes: number }) => void }} options */
  async gc ({ dryRun, signal, onBlob }) {
    const { freed, deleted } = await this.#call('gc', { dryRun }, { signal })
    deleted.forEach(onBlob)
    return freed
  }

  /** @param {string} name @returns {Promise<CID>} */
  cidIn (name) { return this.#call('cidIn', { name }) }

  tags = {
    /** @param {string} name @param {Uint8Array | CID} named @param {{ format: string }} [options] */
    set: (name, named, options) =>
      this.#call('setTag', { name, cid: named instanceof Uint8Array ? toCid(named) : named, options }),
    /** @param {string} name */
    delete: name => this.#call('deleteTag', { name })
  }

  /**
   * @param {string} name @param {object} args
   * @param {Ways & { body?: AsyncIterable<Uint8Array>, listeners?: Listeners }} [how]
   * @returns {Promise<any>}
   */
  async #call (name, args, { body, listeners = {}, signal, onProgress } = {}) {
    const { port, token } = this.#address
    const text = encode(args)
    // The length of headers is limited, so if the call does not send bytes in the body, the arguments go there.
    const path = body === undefined ? `/${name}` : `/${name}?${new URLSearchParams({ args: text })}`
    const headers = { authorization: `Bearer ${token}` }
    const read = (/** @type {IncomingMessage} */ response) => resultOf(response, listeners)
    const sent = body && onProgress ? reportProgress(body, onProgress) : body
    return exchange({ method: 'POST', port, path, headers, signal }, read, sent ?? Readable.from([text]))
  }
}

/**
 * Sends a request to a port of this machine.
 *
 * @template T
 * @param {RequestOptions} options @param {(response: IncomingMessage) => Promise<T>} read  the answer
 * @param {AsyncIterable<Uint8Array>} [body]
 * @returns {Promise<T>}
 */
function exchange (options, read, body = Readable.from([])) {
  return new Promise((resolve, reject) => {
    const sending = request({ host: '127.0.0.1', ...options })
    sending.once('response', response => {
      // If the answer arrives before the whole body is sent, the rest of the body is not needed.
      read(response).then(resolve, reject).finally(() => sending.destroy())
    })
    sending.on('error', reject) // including errors after the body has been sent
    pipeline(body, sending).catch(reject)
  })
}

/**
 * The result of a call. The listeners get the events before it.
 *
 * @param {IncomingMessage} response @param {Listeners} listeners
 * @returns {Promise<any>}
 * @throws {BaoError | Failure} the error of the owner
 */
async function resultOf (response, listeners) {
  const { statusCode } = response
  if (statusCode !== 200) throw new Failure(`the process that has the store open answers with status ${statusCode}`)
  for await (const line of linesOf(response)) {
    const { event, value, error, result } = decode(line)
    if (error !== undefined) throw errorOf(error)
    if (event === undefined) return result
    listeners[event]?.(value)
  }
  throw new Failure('the process that has the store open ended before its work was done')
}

/** @param {ToldError} error */
const errorOf = ({ code, message }) => code === undefined ? new Failure(message) : new BaoError(code, message)

/** @param {IncomingMessage} response @returns {Promise<string>} empty if there is none */
async function firstLine (response) {
  const { value = '' } = await linesOf(response).next()
  return value
}

/** @param {IncomingMessage} response */
async function * linesOf (response) {
  let text = ''
  for await (const piece of response.setEncoding('utf8')) {
    const [end, ...others] = piece.split('\n')
    text += end
    if (text.length > MAX_LINE_LEN) throw new Failure('the process that has the store open answers without end')
    for (const start of others) {
      yield text
      text = start
    }
  }
  if (text !== '') yield text
}

/** A range as JSON, which cannot express Infinity. @param {ByteRange} range */
const jsonOf = ({ start, end }) => end === Infinity ? { start } : { start, end }
