// Asks the owner of a store, which is the process that has it open, to do the work of a command.

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
/** @import { BaoErrorCode } from '../../../lib/core/errors.js' */
/** @import { CID } from 'multiformats/cid' */
/** @import { FetchOptions } from '../network/download.js' */
/** @import { FolderOptions } from '../store/collections.js' */
/** @import { Address } from './address.js' */
/**
 * What an owner sends as its error.
 *
 * @typedef {{ code?: BaoErrorCode, message: string, isFailure?: boolean }} ToldError
 */
/**
 * @typedef {{ signal?: AbortSignal, onProgress?: (event: any) => void }} CallOptions
 * @typedef {Record<string, ((value: any) => void) | undefined>} Listeners  for events from the owner, by event name
 * @typedef {CallOptions & { mode: 'copy' | 'reference', tag?: string, expect?: string }} ImportOptions
 */

/** How many milliseconds the owner has to prove that it knows the token. */
const PROOF_TIMEOUT = 5000
/** The maximum number of characters in a line of an answer. */
const MAX_LINE_LEN = 1 << 26

/**
 * Finds the owner of a store.
 *
 * @param {string} location
 * @param {number | undefined} pid  of the process that holds the lock, if the system reports it
 * @param {AbortSignal} signal
 * @returns {Promise<Owner | undefined>} undefined if there is no owner that takes calls
 */
export async function ownerOf (location, pid, signal) {
  const address = await readAddress(location)
  if (address === undefined || (pid !== undefined && pid !== address.pid)) return undefined
  // The file with the address may be old, and another program may use the port now. So the other process must first
  // prove that it knows the token. Only then is the token sent to it.
  const nonce = randomBytes(32).toString('hex')
  const proofSignal = eitherOf(signal, AbortSignal.timeout(PROOF_TIMEOUT))
  try {
    const proof = await exchange({ port: address.port, path: `/?nonce=${nonce}`, signal: proofSignal }, firstLine)
    if (proof === proofOf(address.token, nonce)) return new Owner(address)
  } catch {
    signal.throwIfAborted()
  }
  return undefined
}

/** Has some methods of a `BlobStore`. They ask the owner to do the work. */
export class Owner {
  #address

  /** @param {Address} address */
  constructor (address) {
    this.#address = address
  }

  get pid () { return this.#address.pid }

  /** @param {AsyncIterable<Uint8Array>} source @param {CallOptions & { tag?: string, expect?: string }} options */
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

  /** @param {{ cid: Uint8Array }[]} parts  whole blobs @param {CallOptions & { tag?: string }} options */
  compose (parts, { tag, signal, onProgress }) {
    const cids = parts.map(({ cid }) => toCid(cid))
    return this.#call('concat', { cids, tag }, { signal, listeners: { onProgress } })
  }

  /**
   * @param {Uint8Array} root @param {AsyncIterable<Uint8Array>} slice @param {ByteRange} range
   * @param {CallOptions} how
   */
  receive (root, slice, range, how) {
    return this.#call('receive', { cid: toCid(root), ranges: jsonOf(range) }, { ...how, body: slice })
  }

  /** Does what `downloadInto` does. @param {CID} cid @param {FetchOptions & { ranges?: ByteRange }} options */
  download (cid, { ranges, signal, onProgress, onFile, onAnswer, ...options }) {
    const args = { ...options, cid, ranges: ranges && jsonOf(ranges) }
    return this.#call('download', args, { signal, listeners: { onProgress, onFile, onAnswer } })
  }

  /**
   * Does what `importArchive` does.
   *
   * @param {AsyncIterable<Uint8Array>} archive
   * @param {CallOptions & { tag?: string, unknown?: 'skip' | 'refuse' }} options
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
   * @param {CallOptions & { body?: AsyncIterable<Uint8Array>, listeners?: Listeners }} [how]
   * @returns {Promise<any>}
   */
  async #call (name, args, { body, listeners = {}, signal, onProgress } = {}) {
    const { port, token } = this.#address
    const text = encode(args)
    // The arguments go into the body, because the length of a URL is limited. If the body has other bytes to carry, the
    // arguments go into the URL.
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
 * @param {RequestOptions} options @param {(response: IncomingMessage) => Promise<T>} read  reads the answer
 * @param {AsyncIterable<Uint8Array>} [body]
 * @returns {Promise<T>}
 */
function exchange (options, read, body = Readable.from([])) {
  return new Promise((resolve, reject) => {
    const sending = request({ host: '127.0.0.1', ...options })
    sending.once('response', response => {
      // The owner may answer before it has the whole body. Then it does not need the rest.
      read(response).then(resolve, reject).finally(() => sending.destroy())
    })
    sending.on('error', reject) // including errors after the body has been sent
    pipeline(body, sending).catch(reject)
  })
}

/**
 * Reads the answer to a call: passes its events to the listeners, and returns the result, which comes last.
 *
 * @param {IncomingMessage} response @param {Listeners} listeners
 * @returns {Promise<any>}
 * @throws {BaoError | Failure} the error that the owner has sent, or a `Failure` if the answer breaks off
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
function errorOf ({ code, message, isFailure }) {
  const coded = code && new BaoError(code, message)
  return coded === undefined || isFailure ? new Failure(message, { cause: coded }) : coded
}

/** @param {IncomingMessage} response @returns {Promise<string>} empty if the answer has no line */
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
    if (text.length > MAX_LINE_LEN) throw new Failure('the process that has the store open sends too long a line')
    for (const start of others) {
      yield text
      text = start
    }
  }
  if (text !== '') yield text
}

/** Returns a range without an infinite `end`, because JSON has no Infinity. @param {ByteRange} range */
const jsonOf = ({ start, end }) => end === Infinity ? { start } : { start, end }
