// Copies every readable entry of a damaged LevelDB into a new one. The damaged files stay as they are.

import { base16 } from 'multiformats/bases/base16'
import { Salvage, removeFolder } from '#disk'
import { encode, u64At } from '../format/codec.js'
import { BATCH, VIEWS } from '../format/keys.js'
import { newLevel } from '../level/levels.js'

/** @import { Versioned } from '../disk/leveldb/block.js' */
/** @import { AnyLevel } from '../level/levels.js' */

/** @typedef {[key: Uint8Array, value: Uint8Array]} Entry */

/** A batch is written once it has this many bytes of values, or this many entries. */
const BATCH_LEN = 1 << 22
const BATCH_COUNT = 1000

/**
 * @param {'index' | 'data'} name
 * @param {object} options
 * @param {string} options.from  the damaged database; may be missing
 * @param {string} options.to  the folder of the new database, which is made here. The new database is closed, but not
 *   synced
 * @param {(entry: Entry) => Entry | undefined} options.change  returns the entry to write instead; undefined to write
 *   none
 * @param {AbortSignal} [options.signal]
 * @returns {Promise<number>} how many bytes of the damaged files could not be read
 */
export async function copyReadable (name, { from, to, change, signal }) {
  const salvage = new Salvage(from, signal)
  const copy = newLevel(name, to)
  const versions = newLevel('index', `${to}.versions`)
  try {
    await Promise.all([copy.open(), versions.open()])
    const newest = new Newest(copy, versions, change)
    for await (const { entries, isDoubtful } of salvage.entries()) await newest.add(entries, isDoubtful)
    await newest.write()
  } finally {
    await Promise.all([copy.close(), versions.close()])
    await removeFolder(`${to}.versions`)
  }
  return salvage.lostBytes
}

/**
 * Writes the newest version of each key. The versions may arrive in any order. So a second database keeps the sequence
 * numbers of the written versions.
 */
class Newest {
  #copy
  #versions
  #change
  /** Entries that are not written yet, by their keys. */
  #batch = /** @type {Map<string, Versioned>} */ (new Map())
  #len = 0

  /**
   * @param {AnyLevel} copy @param {AnyLevel} versions  both open
   * @param {(entry: Entry) => Entry | undefined} change
   */
  constructor (copy, versions, change) {
    this.#copy = copy
    this.#versions = versions
    this.#change = change
  }

  /**
   * @param {Versioned[]} entries
   * @param {boolean} isDoubtful  true to write an entry only if its key has no other version. Such entries come last
   */
  async add (entries, isDoubtful) {
    for (const { key, value, sequence } of entries) {
      const entry = { key, value, sequence: isDoubtful ? DOUBTFUL : sequence }
      const name = base16.baseEncode(key)
      if (entry.sequence <= (this.#batch.get(name)?.sequence ?? -1)) continue
      this.#batch.set(name, entry)
      this.#len += value?.length ?? 0
    }
    if (this.#len >= BATCH_LEN || this.#batch.size >= BATCH_COUNT) await this.write()
  }

  /** Writes the added entries that are newer than the written ones. */
  async write () {
    const entries = [...this.#batch.values()]
    this.#batch.clear()
    this.#len = 0
    const known = await this.#versions.getMany(entries.map(({ key }) => key), VIEWS)
    const isNewer = (/** @type {Versioned} */ { sequence }, /** @type {number} */ i) =>
      known[i] === undefined || sequence > u64At(known[i], 0)
    const newer = entries.filter(isNewer)
    await this.#copy.batch(newer.flatMap(({ key, value }) => {
      const entry = value && this.#change([key, value])
      return entry === undefined ? [{ type: 'del', key }] : [{ type: 'put', key: entry[0], value: entry[1] }]
    }), BATCH)
    await this.#versions.batch(newer.map(({ key, sequence }) =>
      ({ type: 'put', key, value: encode({ u64: sequence }) })), BATCH)
  }
}

/** The sequence number of doubtful entries. LevelDB's own numbers begin with 1. */
const DOUBTFUL = 0
