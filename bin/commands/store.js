// baobox add, get, ls and rm

import { command, flag, outputOption, rangeOf, rangeOptions, rootOf, storeOption, text } from '../arguments.js'
import { Failure, UsageError } from '../terminal/errors.js'
import { fileLine, sized } from '../terminal/format.js'
import { eachInput } from '../terminal/input.js'
import { deliver, print } from '../terminal/output.js'
import { withProgress } from '../terminal/progress.js'
import { withStore } from './with-store.js'

/** @import { BlobStat, BlobStore } from '../../store/blob-store.js' */

/** Room for the longest that `sized` gives, and for what `add` says. */
const SIZE_WIDTH = 11
const NEWS_WIDTH = 13

export const add = command({
  summary: 'put files, or stdin, into a store',
  usage: ['[--store DIR] FILE...', '[--store DIR] [--tag NAME] FILE', '[--store DIR] [--tag NAME] -'],
  operands: { what: 'FILE', min: 1, max: Infinity },
  options: { store: storeOption, tag: text('NAME', 'a name that keeps the blob from gc from the first moment on; it names one FILE') },
  notes: ['Prints a line for each: its CID, its size, whether it is new or already there, and the name.\nA store that is not there yet is made. A blob that does not get in whole leaves nothing.'],
  examples: ['baobox add README.md', 'tar c docs | baobox add --tag docs -'],

  async run ({ values: { store: dir, tag }, operands }, context) {
    if (tag === '') throw new UsageError('--tag: a name is not empty')
    if (tag !== undefined && operands.length > 1) throw new UsageError('--tag names one FILE')
    await withStore(dir, store => eachInput(operands, context, async ({ name, pieces, size }) => {
      const { signal } = context
      const put = await withProgress({ label: name, total: size }, tick =>
        store.put(pieces, { tag, signal, onProgress: ({ detail }) => tick(detail.done) }))
      const news = put.isNew ? 'new' : 'already there'
      await print(fileLine(`${put.cid}  ${sized(put.size).padStart(SIZE_WIDTH)}  ${news.padEnd(NEWS_WIDTH)}`, name))
    }), { create: true })
  }
})

export const get = command({
  summary: 'read a blob, or a range of it, from a store',
  usage: ['[--store DIR] CID [-o FILE] [--start N] [--end N]'],
  operands: { what: 'CID', min: 1, max: 1 },
  options: { store: storeOption, output: outputOption, ...rangeOptions },
  notes: ['Every byte is verified against the CID before it is given. FILE is replaced once all bytes are there: when\nsomething fails it stays as it was.'],
  examples: ['baobox get bafkr4i... -o README.md', 'baobox get bafkr4i... --start 1MiB --end 2MiB | sha256sum'],

  async run ({ values, operands: [name] }, { signal }) {
    const root = rootOf(name)
    const { start, end } = rangeOf(values)
    await withStore(values.store, async store => {
      const { size } = await store.stat(root)
      const total = Math.max(0, Math.min(end, size) - start)
      await deliver(store.get(root, { start, end, signal }), values.output, { label: name, total })
    })
  }
})

export const ls = command({
  summary: 'list the blobs of a store',
  usage: ['[--store DIR] [--long]'],
  operands: { what: 'nothing', min: 0, max: 0 },
  options: { store: storeOption, long: flag('size, how much of it is here, when it came and when it was last used') },
  notes: ['Prints CIDs, one a line. Times are UTC.'],
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
  options: { store: storeOption, force: flag('also what a tag names; the tag stays') },
  notes: ['What a tag names is left alone unless told. Other blobs than these stay, tagged or not: gc forgets what has no tag.'],
  examples: ['baobox rm bafkr4i...'],

  async run ({ values, operands }, { signal, fail }) {
    const roots = operands.map(rootOf)
    await withStore(values.store, async store => {
      for (const [i, root] of roots.entries()) {
        signal.throwIfAborted()
        try {
          if (!await store.delete(root, { force: values.force })) throw new Failure(`${operands[i]} is not in the store`)
        } catch (error) {
          fail(error)
        }
      }
    })
  }
})

/** @param {BlobStore} store @param {BlobStat} blob */
async function longLine (store, { cid, size, sizeProven, complete, created, lastUsed }) {
  const here = complete ? 'whole' : `${sized(await lenHere(store, cid, size))} here`
  // A size that only a sender has claimed is not shown as if it were known.
  const len = sizeProven ? sized(size) : `${sized(size)}?`
  return `${cid}  ${len.padStart(SIZE_WIDTH + 1)}  ${here.padEnd(SIZE_WIDTH + 5)}  ${day(created)}  ${day(lastUsed)}\n`
}

/** @param {BlobStore} store @param {BlobStat['cid']} cid @param {number} size */
async function lenHere (store, cid, size) {
  const { present } = await store.stat(cid)
  return present.toBytes(size).reduce((len, [start, end]) => len + end - start, 0)
}

/** @param {Date} time */
const day = time => time.toISOString().replace('T', ' ').slice(0, 16)
