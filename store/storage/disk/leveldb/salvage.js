// Reads everything that is readable in a damaged LevelDB. It corrects a single flipped bit of a block or a record,
// because the checksum tells which bit it is.

import { correctBlock, contentsOf, entriesOf } from './block.js'
import { loadChecksum } from './checksum.js'
import { filesByNumber, findManifest, logsOf, readWhole, stampsIn } from './files.js'
import { readLog } from './log.js'
import { Table, findBlocks } from './table.js'
import { entriesOfBatch } from './write-batch.js'

/** @import { Versioned } from './block.js' */
/** @import { Span } from './table.js' */

/**
 * @typedef {object} Salvaged
 * @property {Versioned[]} entries  in any order, maybe with several versions of a key
 * @property {boolean} isDoubtful  true if the checksum was wrong: keys, values and sequence numbers may be wrong, too
 */

export class Salvage {
  #path
  #signal
  /** Bytes of files in which nothing could be read. */
  lostBytes = 0
  /** The blocks whose checksums are wrong, by the names of their files. */
  #doubtful = /** @type {Map<string, Span[]>} */ (new Map())

  /** @param {string} path  of a database; may be missing @param {AbortSignal} [signal] */
  constructor (path, signal) {
    this.#path = path
    this.#signal = signal
  }

  /** Yields all entries, the doubtful ones last. @returns {AsyncGenerator<Salvaged>} */
  async * entries () {
    await loadChecksum()
    const { tables, logs } = await this.#files()
    for (const name of tables) yield * this.#inTable(name)
    for (const name of logs) yield * this.#inLog(name)
    for (const [name, spans] of this.#doubtful) yield * this.#inBlocks(name, spans)
  }

  /**
   * Returns the files that the manifest names; all files when the manifest is damaged or names a missing table or log.
   * A manifest that names a missing file may have lost its end, which named other tables.
   */
  async #files () {
    const stamps = await stampsIn(this.#path)
    const { tables, logs } = filesByNumber([...stamps.keys()])
    const manifest = await findManifest(this.#path, [...stamps.keys()])
    const named = manifest && logsOf(manifest, logs)
    if (manifest === undefined || named === undefined) return { tables: [...tables.values()], logs: [...logs.values()] }
    const missing = manifest.tables.filter(({ number }) => !tables.has(number))
    for (const { size } of missing) this.lostBytes += size
    if (missing.length > 0) return { tables: [...tables.values()], logs: [...logs.values()] }
    return { tables: manifest.tables.map(({ number }) => /** @type {string} */ (tables.get(number))), logs: named }
  }

  /** @param {string} name @returns {AsyncGenerator<Salvaged>} */
  async * #inTable (name) {
    const bytes = await this.#read(name)
    const table = Table.of(bytes, { corrects: true })
    const spans = table?.blocks ?? findBlocks(bytes)
    if (table === undefined) this.lostBytes += bytes.length - (spans.at(-1)?.end ?? 0)
    const doubtful = []
    for (const span of spans) {
      const block = bytes.subarray(span.start, span.end)
      if (!correctBlock(block)) {
        doubtful.push(span)
        continue
      }
      const { entries, isInOrder } = entriesOf(contentsOf(block) ?? NOTHING)
      // Without the index, only the order of the entries distinguishes blocks with entries from other blocks.
      if (table !== undefined || isInOrder) yield { entries, isDoubtful: false }
    }
    if (doubtful.length > 0) this.#doubtful.set(name, doubtful)
  }

  /** @param {string} name @returns {AsyncGenerator<Salvaged>} */
  async * #inLog (name) {
    for (const { payload, lost } of readLog(await this.#read(name), { corrects: true })) {
      const entries = payload && entriesOfBatch(payload)
      if (entries !== undefined) yield { entries, isDoubtful: false }
      else if (payload !== undefined) this.lostBytes += payload.length
      else if (!lost.isTorn) this.lostBytes += lost.end - lost.start
    }
  }

  /**
   * Reads the entries of damaged blocks. It leaves out deletions, because a flipped bit may have turned a value into a
   * deletion.
   *
   * @param {string} name @param {Span[]} spans
   * @returns {AsyncGenerator<Salvaged>}
   */
  async * #inBlocks (name, spans) {
    const bytes = await this.#read(name)
    for (const { start, end } of spans) {
      const { entries, isInOrder } = entriesOf(contentsOf(bytes.subarray(start, end)) ?? NOTHING)
      if (!isInOrder) this.lostBytes += end - start
      yield { entries: entries.filter(({ value }) => value !== undefined), isDoubtful: true }
    }
  }

  /** @param {string} name */
  async #read (name) {
    this.#signal?.throwIfAborted()
    return await readWhole(`${this.#path}/${name}`) ?? NOTHING
  }
}

const NOTHING = new Uint8Array(0)
