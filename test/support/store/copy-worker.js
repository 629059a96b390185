// A process that copies one store to another until copy-killed.test.js kills it.
import { writeSync } from 'node:fs'
import process from 'node:process'
import { BlobStore } from '../../../store/index.js'
import { copy } from '../../../exchange/transfer/index.js'

const [source, target] = process.argv.slice(2)
const from = await BlobStore.open(source, { readOnly: true })
const to = await BlobStore.open(target)
writeSync(1, 'open\n')
const { failed } = await copy(from, to, { onProgress: ({ detail: { done } }) => writeSync(1, `${done}\n`) })
writeSync(1, `failed ${failed.length}\n`)
await Promise.all([from.close(), to.close()])
