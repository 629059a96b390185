// Commands for the upkeep of a store.

import { bytes, define, flag, json, store, writeStore } from './options.js'

export const gc = define({
  summary: 'delete the blobs of a store that no tag names',
  operands: '',
  options: { ...writeStore, 'dry-run': flag('delete nothing; only print what would be deleted', 'n'), bytes, json },
  notes: ['Prints the CID and the size of each deleted blob, then their number and total size.'],
  examples: ['baobox gc --dry-run', 'baobox gc']
})

export const compact = define({
  summary: 'give the disk space of deleted blobs back to the system',
  operands: '',
  options: { store, wait: writeStore.wait },
  notes: ['Without it, LevelDB does the same later, when it rewrites its files.'],
  examples: ['baobox rm bafkr4i... && baobox compact']
})

export const fsck = define({
  summary: 'check a store for damage, and repair it',
  operands: '',
  options: {
    ...writeStore,
    repair: flag('compute lost hashes again, and drop damaged bytes, so that they can be fetched again'),
    bytes,
    json
  },
  notes: [
    'Compares every byte with the CID of its blob. Prints a line for each damaged blob, record and tag. ' +
    'Exits with 1 if there is damage and --repair is not given. For a store that does not open, use rescue.'
  ],
  examples: ['baobox fsck', 'baobox fsck --repair']
})

export const rescue = define({
  summary: 'rebuild a broken store: save everything that can still be read',
  operands: '',
  options: { store, bytes, json },
  notes: [
    'Copies everything readable to new databases, which need as much space, verifies every byte, and repairs the ' +
    'store. If it is interrupted, run it again. Deleted blobs may be back afterwards.'
  ],
  examples: ['baobox rescue --store backup']
})
