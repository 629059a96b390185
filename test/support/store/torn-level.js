// A level in memory that behaves like LevelDB after a write to its log has failed half way: it accepts later writes and
// reads them back, but they are lost when the level is opened again.
import { MemoryLevel } from 'memory-level'
import { VIEWS } from '../constants.js'

export const diskFull = () =>
  Object.assign(new Error('IO error: 000003.log: No space left on device'), { code: 'LEVEL_IO_ERROR' })

export class TornLevel extends MemoryLevel {
  /** How many of the next batches fail, and how many of the next attempts to open the level. */
  failures = 0
  openFailures = 0
  opened = 0
  /** The entries at the next opening, if the log is torn. */
  image = undefined

  constructor () {
    super(VIEWS)
  }

  async batch (operations, options) {
    if (this.failures === 0) return super.batch(operations, options)
    this.failures--
    this.image ??= await this.entries()
    throw diskFull()
  }

  async open (options) {
    if (this.openFailures > 0) {
      this.openFailures--
      throw diskFull()
    }
    await super.open(options)
    this.opened++
    if (this.image === undefined) return
    const puts = this.image.map(([key, value]) => ({ type: 'put', key, value }))
    this.image = undefined
    await this.clear()
    if (puts.length > 0) await super.batch(puts, VIEWS)
  }

  async entries () { return (await this.iterator(VIEWS).all()).map(([key, value]) => [key.slice(), value.slice()]) }
}
