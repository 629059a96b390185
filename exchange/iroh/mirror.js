// Turns a peer of iroh into a mirror. One request fetches a slice, or many members of a sequence.

import { BaoError, fetchFailed, fetchRefused } from '../../lib/core/errors.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { parseRoot, toCid } from '../../lib/hash/cid.js'
import { untilAborted } from '../../lib/source/async-util.js'
import { toRanges } from '../../lib/tree/ranges.js'
import { PeerConnection } from './connection.js'
import { addressOf, openIrohEndpoint, shortened } from './endpoint.js'
import { wantedMembers } from './wire/ranges.js'
import { encodeGet, encodeRequest } from './wire/request.js'

/** @import { BlobName } from '../../lib/hash/cid.js' */
/** @import { RangesLike } from '../../lib/tree/ranges.js' */
/** @import { IrohAddress, IrohEndpoint, IrohStream } from './types.js' */
/** @import { PeerAddress } from './wire/ticket.js' */

/**
 * The maximum number of bytes of one read. If the caller is slow, only the bytes of one read wait in memory, because
 * QUIC then slows down the peer.
 */
const READ_LEN = 1 << 16
/** How many digits of a peer's id errors show. */
const SHORT_ID_LEN = 10
/** The codes with which iroh-blobs resets an answer. */
const [NO_PERMISSION, RATE_LIMIT] = [1, 2]

/**
 * Turns a peer into a mirror, for `download`, `downloadFile`, `fetchVerified` and `fromMirrors`. It connects at its
 * first request.
 *
 *     const mirror = irohMirror(ticket)
 *     await download(store, parseTicket(ticket).cid, { from: [mirror] })
 *     await mirror.close()
 *
 * @param {string | PeerAddress | IrohAddress} peer  a ticket or an address. Even with a ticket, the mirror gives any
 *   blob of the peer
 * @param {{ endpoint?: IrohEndpoint }} [options]  `endpoint`: an endpoint of @number0/iroh, which the caller closes.
 *   Default: the mirror opens an endpoint as `openIrohEndpoint` does, and closes it
 * @returns {IrohMirror}
 * @throws {BaoError} TICKET_INVALID
 */
export function irohMirror (peer, options = {}) {
  assertKnownOptions(options, ['endpoint'])
  return new IrohMirror(peer, options.endpoint)
}

/** The mirror that `irohMirror` returns. */
class IrohMirror {
  #connection
  /** @type {Promise<IrohEndpoint> | undefined} */
  #own
  /** The name of the peer in errors and progress. @type {string} */
  location

  /** @param {string | PeerAddress | IrohAddress} peer @param {IrohEndpoint} [endpoint] */
  constructor (peer, endpoint) {
    const address = addressOf(peer)
    this.location = `iroh:${address.id.slice(0, SHORT_ID_LEN)}`
    this.#connection = new PeerConnection(address, async () => endpoint ?? this.#openOwn())
  }

  /**
   * Yields a slice with its header as the peer sends it, unverified.
   *
   * @param {BlobName} cid @param {RangesLike} [ranges] @param {{ signal?: AbortSignal }} [options]
   * @returns {AsyncGenerator<Uint8Array>}
   * @throws {BaoError} STORE_NOT_FOUND { cid } when the peer lacks the blob or some of the ranges; FETCH_FAILED;
   *   FETCH_REFUSED; IROH_ABSENT
   */
  slice (cid, ranges, { signal } = {}) {
    const root = parseRoot(cid, 'cid')
    return this.#ask(root, encodeGet(root, toRanges(ranges)), signal)
  }

  /**
   * Yields whole members of a sequence of hashes, as slices one after the other, from the answer to one request.
   *
   * @param {BlobName} cid  the CID of the sequence @param {number[]} indices  increasing, from 0
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {AsyncGenerator<Uint8Array>} the slices. They may end early, at a member that the peer lacks
   * @throws {BaoError} the errors of `slice`; STORE_NOT_FOUND when the peer lacks the sequence or the first of these
   *   members
   */
  members (cid, indices, { signal } = {}) {
    const root = parseRoot(cid, 'cid')
    return this.#ask(root, encodeRequest({ root, wanted: wantedMembers(indices) }), signal)
  }

  /**
   * Sends a request and yields the answer. Turns errors of the package into those that `slice` lists.
   *
   * @param {Uint8Array} root @param {number[]} request @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<Uint8Array>}
   */
  async * #ask (root, request, signal) {
    signal?.throwIfAborted()
    let len = 0
    try {
      for await (const piece of this.#answer(request, signal)) {
        len += piece.length
        yield piece
      }
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof BaoError) throw error
      throw this.#explain(root, len, error)
    }
    if (len === 0) throw this.#notFound(root)
  }

  /** Closes the connection, and the endpoint if the mirror opened it. Requests under way fail. */
  async close () {
    this.#connection.close()
    await (await this.#own?.catch(() => undefined))?.close()
  }

  async [Symbol.asyncDispose] () { await this.close() }

  async #openOwn () {
    this.#own ??= openIrohEndpoint()
    return this.#own
  }

  /**
   * Sends a request, and yields the bytes of the answer as they arrive.
   *
   * @param {number[]} request @param {AbortSignal} [signal]
   */
  async * #answer (request, signal) {
    const opened = await this.#connection.enter(signal)
    let isWaiting = false
    /** The stream of the request; undefined again after its end. @type {IrohStream | undefined} */
    let stream
    /** @template T @param {Promise<T>} call @returns {Promise<T>} */
    const wait = call => {
      isWaiting = true
      const ended = () => { isWaiting = false }
      call.then(ended, ended)
      return untilAborted(call, signal)
    }
    try {
      stream = await wait(opened.connection.openBi())
      await wait(stream.send.writeAll(request))
      await wait(stream.send.finish())
      while (true) {
        const piece = await wait(stream.recv.read(READ_LEN))
        if (piece.length === 0) {
          stream = undefined
          return
        }
        yield Uint8Array.from(piece)
      }
    } catch (error) {
      const code = signal?.aborted ? undefined : await stream?.recv.receivedReset().catch(() => undefined)
      throw typeof code === 'number' ? new ResetError(code, error) : error
    } finally {
      if (isWaiting) opened.retire()
      else stream?.recv.stop(0n).catch(() => {}) // it may have ended
      opened.leave()
    }
  }

  /**
   * The error to throw for a request that has failed.
   *
   * @param {Uint8Array} root @param {number} len  bytes received @param {unknown} error
   */
  #explain (root, len, error) {
    if (!(error instanceof ResetError)) return fetchFailed(this.location, shortened(error))
    if (error.reset === NO_PERMISSION) return fetchRefused(this.location, 'it does not give this blob to us')
    // iroh-blobs resets an answer that it cannot begin because it lacks the blob.
    return len === 0 && error.reset !== RATE_LIMIT ? this.#notFound(root) : fetchFailed(this.location, error)
  }

  /** @param {Uint8Array} root */
  #notFound (root) {
    const { location } = this
    const cid = toCid(root)
    return new BaoError('STORE_NOT_FOUND', `${location} lacks ${cid}, or the parts asked for`, { cid, location })
  }
}

/** The peer has reset the stream. */
class ResetError extends Error {
  /** @param {number} code @param {unknown} cause */
  constructor (code, cause) {
    super(`the peer has ended the answer with code ${code}`, { cause })
    this.reset = code
  }
}
