// A level in memory that knows what would survive a power cut: everything up to the last write with `sync`.
import { MemoryLevel } from 'memory-level'
import { VIEWS } from '../constants.js'

export class SyncedLevel extends MemoryLevel {
  #onDisk = []

  constructor () {
    super(VIEWS)
  }

  async batch (operations, options) {
    await super.batch(operations, options)
    if (options.sync) this.#onDisk = await this.#entries()
  }

  /** Returns the level as a power cut leaves it. */
  async afterPowerCut () {
    const level = new SyncedLevel()
    await level.batch(this.#onDisk.map(([key, value]) => ({ type: 'put', key, value })), { ...VIEWS, sync: true })
    return level
  }

  async #entries () { return (await this.iterator(VIEWS).all()).map(([key, value]) => [key.slice(), value.slice()]) }
}
