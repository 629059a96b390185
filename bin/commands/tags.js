// baobox tag and gc

import { command, flag, rootOf, storeOption } from '../arguments.js'
import { Failure, UsageError } from '../terminal/errors.js'
import { counted, sized } from '../terminal/format.js'
import { print } from '../terminal/output.js'
import { withStore } from './with-store.js'

export const tag = command({
  summary: 'name blobs, so that gc leaves them; list the names',
  usage: ['[--store DIR]', '[--store DIR] NAME CID [--hashseq]', '[--store DIR] --delete NAME'],
  operands: { what: 'NAME', min: 0, max: 2 },
  options: {
    store: storeOption,
    hashseq: flag('the blob consists of hashes, 32 bytes each: name the blobs that these are of, too'),
    delete: flag('take the name away; the blob stays until gc or rm')
  },
  notes: ['Alone it prints a line for each tag: its CID, its format and its name.\nA tag of that name is replaced. The blob need not be there yet.'],
  examples: ['baobox tag release bafkr4i...', 'baobox tag', 'baobox tag --delete release'],

  async run ({ values, operands: [name, cid] }, { signal }) {
    if (values.delete && (name === undefined || cid !== undefined)) throw new UsageError('--delete takes a NAME')
    if (!values.delete && name !== undefined && cid === undefined) throw new UsageError('CID is missing')
    if (name === '') throw new UsageError('a name is not empty')
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
  summary: 'forget the blobs of a store that no tag names',
  usage: ['[--store DIR] [--dry-run]'],
  operands: { what: 'nothing', min: 0, max: 0 },
  options: { store: storeOption, 'dry-run': flag('forget nothing, only say what would be') },
  notes: ['Prints the CID and size of each blob that goes, and how much that was.'],
  examples: ['baobox gc --dry-run', 'baobox gc'],

  run: ({ values }, { signal }) => withStore(values.store, async store => {
    const dryRun = values['dry-run'] === true
    /** @type {string[]} */
    const lines = []
    const { blobs, bytes } = await store.gc({ dryRun, signal, onBlob: ({ cid, bytes }) => lines.push(`${cid}  ${sized(bytes)}\n`) })
    for (const line of lines) await print(line)
    await print(`${counted(blobs, 'blob')}, ${sized(bytes)}, ${dryRun ? 'would go' : 'gone'}\n`)
  })
})
