// The file `baobox.json` of a bucket: which layout it has, and whether several processes may write to it.

import { readOnlyError, unknownLayout } from '../../../store/interface.js'
import { untilAborted } from '../../../lib/source/async-util.js'
import { bucketInvalid } from '../errors.js'
import { STORE_KEY } from '../layout.js'
import { probe } from '../probe.js'
import { readRecord, writeRecord } from '../record.js'

/** @import { Bucket } from '../bucket.js' */

const VERSION = 1

export class LayoutFile {
  #bucket
  #exclusive
  #readOnly
  #run
  /** @type {Promise<void> | undefined} */
  #prepared

  /**
   * @param {Bucket} bucket
   * @param {{
   *   exclusive: boolean, readOnly: boolean, run: (work: (signal: AbortSignal) => Promise<void>) => Promise<void>
   * }} options  `run`: runs work for which all calls wait
   */
  constructor (bucket, { exclusive, readOnly, run }) {
    this.#bucket = bucket
    this.#exclusive = exclusive
    this.#readOnly = readOnly
    this.#run = run
  }

  /**
   * Makes sure that this process may write. The first process that writes to a bucket probes it, and notes the result.
   *
   * @param {AbortSignal} signal
   * @throws {import('../../../lib/core/errors.js').BaoError} STORE_READ_ONLY; STORE_VERSION; BUCKET_UNSAFE
   */
  async prepare (signal) {
    if (this.#readOnly) throw readOnlyError(this.#bucket.location)
    this.#prepared ??= this.#run(signal => this.#prepare(signal)).catch(error => {
      this.#prepared = undefined
      throw error
    })
    await untilAborted(this.#prepared, signal)
  }

  /** @param {AbortSignal} signal */
  async #prepare (signal) {
    const { location } = this.#bucket
    const record = await readRecord(this.#bucket, STORE_KEY, signal)
    if (record !== undefined && typeof record.version !== 'number') {
      throw bucketInvalid(`${location}/${STORE_KEY}`, 'it should have a version')
    }
    if (record !== undefined && record.version !== VERSION) throw unknownLayout(location, Number(record.version))
    if (record?.isProbed === true || (record !== undefined && this.#exclusive)) return
    if (!this.#exclusive) await probe(this.#bucket, { signal })
    await writeRecord(this.#bucket, STORE_KEY, { version: VERSION, isProbed: !this.#exclusive }, signal)
  }
}
