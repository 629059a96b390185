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
  /** @type {Promise<void> | undefined} */
  #prepared

  /** @param {Bucket} bucket @param {{ exclusive: boolean, readOnly: boolean }} options */
  constructor (bucket, { exclusive, readOnly }) {
    this.#bucket = bucket
    this.#exclusive = exclusive
    this.#readOnly = readOnly
  }

  /**
   * Makes sure that this process may write. The first process that writes to a bucket probes it, and notes the result.
   *
   * @param {AbortSignal} signal
   * @throws {import('../../../lib/core/errors.js').BaoError} STORE_READ_ONLY; STORE_VERSION; BUCKET_UNSAFE
   */
  async prepare (signal) {
    if (this.#readOnly) throw readOnlyError(this.#bucket.location)
    this.#prepared ??= this.#prepare().catch(error => {
      this.#prepared = undefined
      throw error
    })
    await untilAborted(this.#prepared, signal)
  }

  /** All calls wait for it, so it has no signal of one of them. */
  async #prepare () {
    const { location } = this.#bucket
    const record = await readRecord(this.#bucket, STORE_KEY)
    if (record !== undefined && typeof record.version !== 'number') {
      throw bucketInvalid(`${location}/${STORE_KEY}`, 'it should have a version')
    }
    if (record !== undefined && record.version !== VERSION) throw unknownLayout(location, Number(record.version))
    if (record?.isProbed === true || (record !== undefined && this.#exclusive)) return
    if (!this.#exclusive) await probe(this.#bucket)
    await writeRecord(this.#bucket, STORE_KEY, { version: VERSION, isProbed: !this.#exclusive })
  }
}
