// baobox tag and gc

import { command, flag, rootOf, storeOption } from '../arguments.js'
import { Failure, UsageError } from '../terminal/errors.js'
import { formatCount, formatSize } from '../terminal/format.js'
import { print } from '../terminal/output.js'
import { withStore } from './with-store.js'

export const tag = command({
  summary: 'name blobs, so that gc keeps them; list the names',
  usage: ['[--store DIR]', '[--store DIR] NAME CID [--hashseq]', '[--store DIR] --delete NAME'],
  operands: { what: 'NAME', min: 0, max: 2 },
  options: {
    store: storeOption,
    hashseq: flag('the blob is a list of 32-byte hashes: the tag also keeps the blobs of these'),
    delete: flag('delete the tag; the blob stays until gc or rm')
  },
  notes: [
    'Without arguments, prints a line for each tag: its CID, its format and its name. ' +
    'A tag that exists is replaced. The blob may come later.'
  ],
  examples: ['baobox tag release bafkr4i...', 'baobox tag', 'baobox tag --delete release'],

  async run ({ values, operands: [name, cid] }, { signal }) {
    if (values.delete && (name === undefined || cid !== undefined)) {
      throw new UsageError('--delete takes one NAME, and no CID')
    }
    if (!values.delete && name !== undefined && cid === undefined) throw new UsageError('missing argument CID')
    if (name === '') throw new UsageError('NAME must not be empty')
    const root = cid === undefined ? undefined : rootOf(cid)
    await withStore(values.store, async store => {
      if (values.delete) {
        if (await store.tags.delete(name)) return
        throw new Failure(`there is no tag ${JSON.stringify(name)}`)
      }
      if (root !== undefined) return store.tags.set(name, cid, values.hashseq ? { format: 'hashseq' } : undefined)
      for await (const { name, cid, format } of store.tags.list()) {
        signal.throwIfAborted()
        await print(`${cid}  ${format.padEnd('hashseq'.length)}  ${JSON.stringify(name)}\n`)
      }
    })
  }
})

export const gc = command({
  summary: 'delete the blobs of a store that no tag names',
  usage: ['[--store DIR] [--dry-run]'],
  operands: { what: 'nothing', min: 0, max: 0 },
  options: { store: storeOption, 'dry-run': flag('delete nothing; only print what would be deleted') },
  notes: ['Prints the CID and the size of each deleted blob, then the sums.'],
  examples: ['baobox gc --dry-run', 'baobox gc'],

  run: ({ values }, { signal }) => withStore(values.store, async store => {
    const dryRun = values['dry-run'] === true
    /** @type {string[]} */
    const lines = []
    const { blobs, bytes } = await store.gc({
      dryRun,
      signal,
      onBlob: ({ cid, bytes }) => lines.push(`${cid}  ${formatSize(bytes)}\n`)
    })
    for (const line of lines) await print(line)
    await print(`${dryRun ? 'would delete' : 'deleted'} ${formatCount(blobs, 'blob')}, ${formatSize(bytes)}\n`)
  })
})
