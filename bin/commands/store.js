// baobox add, get, ls and rm

import { command, flag, outputOption, rangeOf, rangeOptions, rootOf, storeOption, text } from '../arguments.js'
import { Failure, UsageError } from '../terminal/errors.js'
import { fileLine, formatSize } from '../terminal/format.js'
import { eachInput } from '../terminal/input.js'
import { deliver, print } from '../terminal/output.js'
import { withProgress } from '../terminal/progress.js'
import { withStore } from './with-store.js'

/** @import { BlobStat } from '../../store/index.js' */
/** @import { BlobStore } from '../../store/blob-store.js' */

/** Columns for the longest result of `formatSize`, and for `already there`. */
const SIZE_WIDTH = 11
const NEWS_WIDTH = 13

export const add = command({
  summary: 'put files, or stdin, into a store',
  usage: ['[--store DIR] FILE...', '[--store DIR] [--tag NAME] FILE', '[--store DIR] [--tag NAME] -'],
  operands: { what: 'FILE', min: 1, max: Infinity },
  options: {
    store: storeOption,
    tag: text('NAME', 'tag the blob in the same step, so that gc keeps it; for one FILE only')
  },
  notes: [
    'Prints a line for each: its CID, its size, whether it is new or already there, and the file name. ' +
    'A missing store is made. A blob that does not arrive completely is not kept.'
  ],
  examples: ['baobox add README.md', 'tar c docs | baobox add --tag docs -'],

  async run ({ values: { store: dir, tag }, operands }, context) {
    if (tag === '') throw new UsageError('--tag: NAME must not be empty')
    if (tag !== undefined && operands.length > 1) throw new UsageError('--tag goes with one FILE only')
    const { signal } = context
    await withStore(dir, store => eachInput(operands, context, async input => {
      const { cid, size, isNew } = await withProgress(input, onProgress =>
        store.put(input.pieces, { tag, signal, onProgress }))
      const news = (isNew ? 'new' : 'already there').padEnd(NEWS_WIDTH)
      await print(fileLine(`${cid}  ${formatSize(size).padStart(SIZE_WIDTH)}  ${news}`, input.name))
    }), { create: true })
  }
})

export const get = command({
  summary: 'read a blob, or a range of it, from a store',
  usage: ['[--store DIR] CID [-o FILE] [--start N] [--end N]'],
  operands: { what: 'CID', min: 1, max: 1 },
  options: { store: storeOption, output: outputOption, ...rangeOptions },
  notes: [
    'Every byte is verified against the CID before it is written. FILE is replaced once all bytes are there; ' +
    'after an error it is as it was before.'
  ],
  examples: ['baobox get bafkr4i... -o README.md', 'baobox get bafkr4i... --start 1MiB --end 2MiB | sha256sum'],

  async run ({ values, operands: [name] }, { signal }) {
    const root = rootOf(name)
    const { start, end } = rangeOf(values)
    await withStore(values.store, async store => {
      const { size } = await store.stat(root)
      const len = Math.max(0, Math.min(end, size) - start)
      await deliver(store.get(root, { start, end, signal }), values.output, { name, size: len })
    })
  }
})

export const ls = command({
  summary: 'list the blobs of a store',
  usage: ['[--store DIR] [--long]'],
  operands: { what: 'nothing', min: 0, max: 0 },
  options: {
    store: storeOption,
    long: flag('also print the size, how much is present, and the times of adding and last use')
  },
  notes: [
    'Prints one CID a line. Times are in UTC. ' +
    'A size with a question mark was claimed by a sender and is not proven yet.'
  ],
  examples: ['baobox ls --long'],

  run: ({ values }, { signal }) => withStore(values.store, async store => {
    for await (const blob of store.list()) {
      signal.throwIfAborted()
      await print(values.long ? await longLine(store, blob) : `${blob.cid}\n`)
    }
  })
})

export const rm = command({
  summary: 'delete blobs from a store',
  usage: ['[--store DIR] CID... [--force]'],
  operands: { what: 'CID', min: 1, max: Infinity },
  options: { store: storeOption, force: flag('also delete blobs that a tag names; the tag stays') },
  notes: ['Only deletes the blobs it is given. To delete every blob that no tag names, use gc.'],
  examples: ['baobox rm bafkr4i...'],

  async run ({ values, operands }, { signal, attempt }) {
    const roots = operands.map(rootOf)
    await withStore(values.store, async store => {
      for (const [i, root] of roots.entries()) {
        signal.throwIfAborted()
        await attempt(async () => {
          const isDeleted = await store.delete(root, { force: values.force })
          if (!isDeleted) throw new Failure(`${operands[i]} is not in the store`)
        })
      }
    })
  }
})

/** @param {BlobStore} store @param {BlobStat} blob */
async function longLine (store, { cid, size, sizeProven, complete, created, lastUsed }) {
  const state = complete ? 'complete' : `${formatSize(await presentLen(store, cid, size))} present`
  const len = `${formatSize(size)}${sizeProven ? '' : '?'}`
  const columns = [len.padStart(SIZE_WIDTH + '?'.length), state.padEnd(SIZE_WIDTH + ' present'.length)]
  return `${[cid, ...columns, formatTime(created), formatTime(lastUsed)].join('  ')}\n`
}

/** @param {BlobStore} store @param {BlobStat['cid']} cid @param {number} size */
async function presentLen (store, cid, size) {
  const { present } = await store.stat(cid)
  return present.toBytes(size).reduce((len, [start, end]) => len + end - start, 0)
}

/** @param {Date} time */
const formatTime = time => time.toISOString().replace('T', ' ').slice(0, 16)
