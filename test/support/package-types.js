// Completes the declarations in `types`, which tsc makes from the JSDoc: `npm run prepack` runs it after tsc.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'

const ROOT = new URL('../../', import.meta.url)
/** Declarations that are written by hand, which tsc does not copy. */
const BY_HAND = ['lib/core/types.d.ts', 'exchange/iroh/types.d.ts']
/**
 * Classes that implement `Store`, and where that is for them. tsc forgets `@implements`, and without it editors do not
 * find the comments of the calls.
 */
const STORES = {
  'store/blob-store.d.ts': './interface.js',
  'exchange/bucket/store/bucket-store.d.ts': '../../../store/interface.js'
}

for (const path of BY_HAND) copyFileSync(new URL(path, ROOT), new URL(`types/${path}`, ROOT))
for (const [path, place] of Object.entries(STORES)) {
  const file = new URL(`types/${path}`, ROOT)
  const text = readFileSync(file, 'utf8').replace(/(?<=^export class \w+) \{$/m, ' implements Store {')
  writeFileSync(file, `import type { Store } from '${place}'\n${text}`)
}
